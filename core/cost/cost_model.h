// A CostModel says how long one piece of work takes when nothing else runs. It is pure, and it must
// list what it leaves out, because that list is shown beside every number that the model produced.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/cluster/cluster.h"
#include "core/cluster/collective.h"
#include "core/cost/collectives/collective_algorithm.h"
#include "core/cost/process_memory.h"
#include "core/model/op.h"

namespace trainyard {

/// PhaseLoad has the parts of a phase's time, in seconds. They are sums over its kernels, so the
/// load of a stage is the sum over its layers.
struct PhaseLoad {
  double device = 0, host = 0;  // busy with one kernel after the other; time to issue them all
  double exposed = 0;           // the part of collectives beside a kernel for which the phase waits
  PhaseLoad& operator+=(const PhaseLoad& more) {
    device += more.device, host += more.host, exposed += more.exposed;
    return *this;
  }
  friend PhaseLoad operator*(const PhaseLoad& one, double count) {
    return {one.device * count, one.host * count, one.exposed * count};
  }
};

/// Returns whether the work neither computes nor moves a byte.
bool nothing(const Work&);

class CostModel {  // pure: equal arguments give equal results, on any thread
 public:
  virtual ~CostModel() = default;
  virtual std::string_view name() const = 0;
  /// One sentence each, such as "cache reuse between kernels".
  virtual std::vector<std::string> leaves_out() const = 0;
  /// Zero work takes no time; any other work takes at least the launch time. Throws
  /// Error{Unsupported} for a product in a format for which the device has no peak.
  virtual Duration compute(const Work&, const Device&) const = 0;
  /// Returns the time of all computation of one phase of one stage, with kernels one after the
  /// other while the host issues the next. `kernels` has compute() of each work, which the caller
  /// has usually computed before. `update` says that the phase is the weight update at the end of a
  /// step, which includes what happens once per step. By default the result is the sum of the
  /// kernels.
  virtual Duration phase(std::span<const WorkCount>, std::span<const Duration> kernels, bool update,
                         const Cluster&) const;
  Duration phase(std::span<const WorkCount>, bool update, const Cluster&) const;
  /// These two are phase() in two parts, for callers that add up layers. The result equals phase()
  /// except for the rounding of sums, and leaves out what is exposed.
  virtual PhaseLoad load(std::span<const WorkCount>, std::span<const Duration> kernels,
                         const Cluster&) const;
  virtual Duration phase(const PhaseLoad&, bool update, const Cluster&) const;
  /// Returns how much longer than phase() a phase takes for what its load lists as exposed. By
  /// default that is all of it; it is less where the host is the bottleneck, because the host
  /// continues to issue kernels while the device waits.
  virtual Duration exposed(const PhaseLoad&) const;
  /// Returns the time of a message between two devices that are joined at `level`, alone on the
  /// link; the simulator models sharing.
  virtual Duration transfer(Bytes, const Cluster&, std::size_t level) const = 0;
  /// bytes is the whole vector of an all-reduce, the gathered result of an all-gather, the input of
  /// a reduce-scatter, what one rank sends in an all-to-all (including its own part), or what is
  /// broadcast; each per rank. Takes the fastest algorithm that the shape allows. 0 for one rank.
  virtual CollectiveTime collective(CollectiveKind, Bytes, const GroupShape&,
                                    const Cluster&) const = 0;
  /// Share of the time of communication beside computation that the two lose together (see
  /// core/cost/overlap.h).
  virtual double contention(const Device&) const { return 0; }
  /// By default this is the device's own context and nothing more.
  virtual ProcessMemory process_memory(const Device& device) const { return plain_process(device); }
  /// Half-width of the error seen on published runs, as a share of the value, and the sentence that
  /// states its basis.
  virtual double band() const = 0;
  virtual std::string_view band_basis() const = 0;
};

/// Compute is the larger of FLOP time and byte time at the device's efficiencies, plus launch
/// (roofline, Williams et al. 2009). Communication is alpha-beta by algorithm
/// (core/cost/collectives/alpha_beta.h).
std::unique_ptr<CostModel> roofline_cost_model();
/// The same model at 100 % of every datasheet figure and without launch times: the physical limit.
std::unique_ptr<CostModel> datasheet_cost_model();

}  // namespace trainyard
