// A CostModel says how long one piece of work takes when nothing else runs. It is pure, and it must
// say what it leaves out: that text is shown beside every number it produced.
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
#include "core/cost/collective_algorithm.h"
#include "core/cost/process_memory.h"
#include "core/model/op.h"

namespace trainyard {

/// What a phase's time is made of, in seconds: sums over its kernels, so that those of a stage are
/// the sums over its layers.
struct PhaseLoad {
  double device = 0, host = 0;  // busy, one kernel after the other; to issue them all
  double exposed = 0;  // what is waited for of collectives that run beside one of the kernels
  PhaseLoad& operator+=(const PhaseLoad& more) {
    device += more.device, host += more.host, exposed += more.exposed;
    return *this;
  }
  friend PhaseLoad operator*(const PhaseLoad& one, double count) {
    return {one.device * count, one.host * count, one.exposed * count};
  }
};

/// Neither computes nor moves a byte.
bool nothing(const Work&);

class CostModel {  // pure: same arguments, same answer, on any thread
 public:
  virtual ~CostModel() = default;
  virtual std::string_view name() const = 0;
  /// One sentence each, as "cache reuse between kernels".
  virtual std::vector<std::string> leaves_out() const = 0;
  /// Zero work takes no time; any other at least the launch. Throws Error{Unsupported} for a
  /// product in a format the device has no peak for.
  virtual Duration compute(const Work&, const Device&) const = 0;
  /// All that one phase of one stage computes, kernels one after the other while the host issues
  /// the next; `kernels`: compute() of each work, as who prices a plan has asked for it already.
  /// `update`: the weight update at the end of a step, with what happens once a step. By default
  /// the sum of the kernels.
  virtual Duration phase(std::span<const WorkCount>, std::span<const Duration> kernels, bool update,
                         const Cluster&) const;
  Duration phase(std::span<const WorkCount>, bool update, const Cluster&) const;
  /// phase() in two parts, for who adds up layers: equal to it but for the rounding of sums, and
  /// without what is exposed.
  virtual PhaseLoad load(std::span<const WorkCount>, std::span<const Duration> kernels,
                         const Cluster&) const;
  virtual Duration phase(const PhaseLoad&, bool update, const Cluster&) const;
  /// How much longer than phase() a phase takes for what its load says is exposed. By default all
  /// of that; less where the host binds, which goes on issuing kernels while the device waits.
  virtual Duration exposed(const PhaseLoad&) const;
  /// A message between two devices whose distance needs `level`, alone on the link; sharing is the
  /// simulator's.
  virtual Duration transfer(Bytes, const Cluster&, std::size_t level) const = 0;
  /// bytes: the whole vector of an all-reduce; the gathered result of an all-gather; the input of a
  /// reduce-scatter; what one rank sends in an all-to-all (its own part included); what is
  /// broadcast; each per rank. The fastest algorithm that the shape allows. 0 for one rank.
  virtual CollectiveTime collective(CollectiveKind, Bytes, const GroupShape&,
                                    const Cluster&) const = 0;
  /// Share of the time of traffic beside computation that is lost to the two together (see
  /// core/cost/overlap.h).
  virtual double contention(const Device&) const { return 0; }
  /// By default the device's own context and nothing more.
  virtual ProcessMemory process_memory(const Device& device) const { return plain_process(device); }
  /// Half-width of the error seen on published runs, as a share of the value, and the sentence that
  /// says so.
  virtual double band() const = 0;
  virtual std::string_view band_basis() const = 0;
};

/// Compute: the larger of FLOP time and byte time at the device's efficiencies, plus launch
/// (roofline, Williams et al. 2009). Communication: alpha-beta by algorithm
/// (core/cost/alpha_beta.h).
std::unique_ptr<CostModel> roofline_cost_model();
/// The same at 100 % of every datasheet figure and no launch: the physical limit.
std::unique_ptr<CostModel> datasheet_cost_model();

}  // namespace trainyard
