// A ConcurrentLayer runs the ops of one layer on several cores of this machine at once, and several
// of them as one, on operands of its own: what IOS (Ding et al. 2021) measures, and the schedules
// that come of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/calibration/merged_kernel.h"
#include "backends/cpu/calibration/rehearsal.h"

namespace trainyard {

/// The ops of each core in order, by index in the body's list; merge i of a layer stands behind
/// them as number of ops + i.
using OpsOfCores = std::vector<std::vector<int>>;

class ConcurrentLayer {
 public:
  /// The workload, of one device that divides nothing, must outlive it. cores >= 1. Runs every kind
  /// of layer of the workload once, to give all operands values. `merges`: ops of the body's list
  /// that run as one (merged_kernel.h), in 4-byte floats, each in ascending order.
  ConcurrentLayer(const Workload&, std::size_t body, bool backward, int cores,
                  std::vector<std::vector<int>> merges = {});
  ~ConcurrentLayer();

  struct Times {
    std::vector<Duration> alone, beside;  // by op and then by merge; equal where there is one core
    // Each op ran on the core after that of the op before, and the other cores waited: operands had
    // to be handed over. One time for each op.
    std::vector<Duration> alternating;
    Duration join = Duration::max();  // of a stage in which every core works, beyond its work
  };
  /// Runs the ops in their order, and then the merges, on one core, and then on all cores at once,
  /// each with operands of its own; then op i on core i modulo the number of cores; then stages of
  /// every core. As run() does, it runs everything twice and times the second by the clock. Lowers
  /// to these times what is more in `least`, which has none before the first round: rounds that are
  /// spread among those of run() see the machine that run() sees.
  void time_ops(Times& least);
  /// Runs one stage after another, on as many cores as any has, twice: returns the time by the
  /// clock of the second time, which finds operands that fit into the caches there.
  Duration run(const std::vector<OpsOfCores>& stages);
  /// A digest of everything that the ops have written.
  std::uint64_t digest() const;
  /// The largest difference between what the ops have written here and there, both layers of the
  /// same body with the same operands, over the largest magnitude of its tensor there.
  double difference(const ConcurrentLayer& there) const;

 private:
  class Pinned;
  class Meeting;
  class Cores;

  /// A layer of each kind with operands of its own, and the ops of this one bound to them.
  struct Operands {
    std::unique_ptr<Rehearsal> layers;
    std::vector<Rehearsal::Bound> bound;  // by op
    std::vector<MergedKernel> merged;
    std::unique_ptr<Scratch> side_by_side;  // operands of merges that lie as one tensor
    std::size_t size() const { return bound.size() + merged.size(); }
    void run(int op, Scratch&) const;
    void lay_side_by_side();
  };
  Operands make_operands() const;
  Duration time_join();
  /// Calls f(tensor) with everything that the ops write, in their order.
  template <class F>
  void each_written(F&& f) const;

  const Workload& workload_;
  const std::size_t body_;
  const bool backward_;
  const std::vector<std::vector<int>> merges_;
  Operands own_;
  std::vector<Operands> others_;               // of the cores behind the first, since time_ops()
  std::unique_ptr<Cores> cores_, first_core_;  // the others rest where one is enough
};

}  // namespace trainyard
