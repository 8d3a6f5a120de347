// A ConcurrentLayer runs the ops of one layer on several cores of this machine at once, on operands
// of its own: what IOS (Ding et al. 2021) measures, and the schedules that come of it.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "backends/cpu/calibration/rehearsal.h"

namespace trainyard {

/// The ops of each core in order, by index in the body's list.
using OpsOfCores = std::vector<std::vector<int>>;

class ConcurrentLayer {
 public:
  /// The workload, of one device that divides nothing, must outlive it. cores >= 1. Runs every kind
  /// of layer of the workload once, to give all operands values.
  ConcurrentLayer(const Workload&, std::size_t body, bool backward, int cores);
  ~ConcurrentLayer();

  struct Times {
    std::vector<Duration> alone, beside;  // by op; equal where there is one core
  };
  /// Runs the ops in their order `rounds` times on one core, and then on all cores at once, each
  /// with operands of its own while this runs. Times are processor times, the lower quartile of the
  /// rounds. Throws Error{Cancelled} when stopped, after the round under way.
  Times time_ops(int rounds, const std::stop_token& = {}) const;
  /// Returns the time that a stage takes beyond its work, where every core works for a while: the
  /// median of `rounds`. It is long where other programs keep cores from being there at once.
  Duration time_join(int rounds);
  /// Runs one stage after another, on as many cores as any has, twice: returns the time by the
  /// clock of the second time, which finds operands that fit into the caches there.
  Duration run(const std::vector<OpsOfCores>& stages);
  /// A digest of everything that the ops have written.
  std::uint64_t digest() const;

 private:
  class Pinned;
  class Meeting;
  class Cores;

  /// A layer of each kind with operands of its own, and the ops of this one bound to them.
  struct Operands {
    std::unique_ptr<Rehearsal> layers;
    std::vector<Rehearsal::Bound> bound;  // by op
  };
  Operands make_operands() const;

  const Workload& workload_;
  const std::size_t body_;
  const bool backward_;
  Operands own_;
  std::unique_ptr<Cores> cores_, first_core_;  // the others rest where one is enough
};

}  // namespace trainyard
