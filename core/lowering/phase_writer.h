// A PhaseWriter writes one action of the order as instructions: the two grains are its two kinds.
// Everything between actions (sends, order, updates) is lower.cpp's and the same for both.
#pragma once

#include <memory>
#include <vector>

#include "core/lowering/boundaries.h"
#include "core/lowering/draft.h"
#include "core/lowering/host_lanes.h"
#include "core/lowering/stage_copies.h"

namespace trainyard {

/// The streams of one lane for collectives: those that block, of weights, of gradients. Lanes that
/// share a device have their own, so that none waits for its turn behind another that waits for it.
struct LaneStreams {
  std::uint32_t comm = 0, gather = 0, reduce = 0;
};

/// One lane of the order while it is being written.
struct LaneState {
  std::uint32_t stream = 0;  // compute
  LaneStreams to;
  Refs tail;  // what the lane's next computation waits for
  Ref last_compute;
  Ref scattered;  // the newest scatter of one layer's gradients
};

/// What a written action leaves behind.
struct Written {
  Ref first;     // its first computation
  Refs done;     // all that must have ended before its results may be used
  Refs reduced;  // its gradients' collectives; empty when none were due
};

/// Where an action stands between two updates of its stage.
struct Moment {
  bool first_forward = false;  // weights gathered after the last update are still arriving
  bool last_backward = false;  // gradients are complete
};

class PhaseWriter {
 public:
  virtual ~PhaseWriter() = default;
  /// place: index into the places of an action of that stage on the lane's device.
  virtual Written write(const Action&, std::size_t place, Moment, LaneState&,
                        const Refs& inputs) = 0;
  /// Weight collectives after the update, when they do not overlap with the next forward.
  virtual Refs gather(const LaneState&, std::size_t place, std::int32_t step,
                      const Refs& updated) = 0;
  /// What the place keeps of one microbatch from its forward to its backward.
  virtual std::vector<BufferId> kept(std::size_t place) const = 0;
};

std::unique_ptr<PhaseWriter> order_grain(const Workload&, const StageCopies&, const Boundaries&,
                                         Draft&, BackwardKinds, HostLanes&);
std::unique_ptr<PhaseWriter> op_grain(const Workload&, const StageCopies&, const Boundaries&,
                                      Draft&, BackwardKinds, HostLanes&);

std::string_view name_of(Phase);  // "forward", "backward", "input gradient" ...

}  // namespace trainyard
