// A PhaseWriter writes one action of the order as instructions; each grain has its own
// implementation. Everything between actions (sends, order, updates) is in lower.cpp and the same
// for both.
#pragma once

#include <memory>
#include <vector>

#include "core/lowering/boundaries.h"
#include "core/lowering/draft.h"
#include "core/lowering/host_lanes.h"
#include "core/lowering/stage_copies.h"

namespace trainyard {

/// The streams of one lane for collectives: blocking ones, those of weights, and those of
/// gradients. Lanes that share a device have streams of their own, which avoids deadlocks between
/// them.
struct LaneStreams {
  std::uint32_t comm = 0, gather = 0, reduce = 0;
};

/// Computations of one action with no blocking collective between them.
struct Stint {
  Ref first, last;
};

/// The state of one lane of the order while it is being written.
struct LaneState {
  std::uint32_t stream = 0;  // the compute stream
  LaneStreams to;
  Refs tail;  // the lane's next computation waits for these
  Ref last_compute;
  Ref scattered;              // newest scatter of one layer's gradients
  std::vector<Stint> stints;  // of the action that was written last, if it is of a pair
  // If that action is one computation, the first of its blocking collectives, and the last if they
  // run before it; else invalid.
  Ref sent_first, sent_ahead;
  bool in_pair = false;  // the action that is written next is of a pair
};

/// The instructions of a written action that others refer to.
struct Written {
  Ref first;     // its first computation
  Refs done;     // must have ended before the results may be used
  Refs reduced;  // its gradients' collectives; empty if none are due
};

/// The position of an action between two updates of its stage.
struct Moment {
  bool first_forward = false;  // gathers after the last update may be in progress
  bool last_backward = false;  // the lane adds nothing more to the stage's gradients
  bool completes = false;      // nor does another lane of the device: they are reduced now
  /// Where the action completes the gradients: the last backwards of the other lanes of the device,
  /// which have added to the same gradients.
  Refs others;
};

class PhaseWriter {
 public:
  virtual ~PhaseWriter() = default;
  /// place: index of the place of the action's stage on the lane's device. The second action of a
  /// pair is written to a lane state of its own.
  virtual Written write(const Action&, std::size_t place, Moment, LaneState&,
                        const Refs& inputs) = 0;
  /// Writes the weight collectives after the update, if they do not overlap with the next forward.
  virtual Refs gather(const LaneState&, std::size_t place, std::int32_t step,
                      const Refs& updated) = 0;
  /// The buffers that the place keeps of one microbatch from its forward to its backward.
  virtual std::vector<BufferId> kept(std::size_t place) const = 0;
};

std::unique_ptr<PhaseWriter> order_grain(const Workload&, const StageCopies&, const Boundaries&,
                                         Draft&, BackwardKinds, HostLanes&);
std::unique_ptr<PhaseWriter> op_grain(const Workload&, const StageCopies&, const Boundaries&,
                                      Draft&, BackwardKinds, HostLanes&);

std::string_view name_of(Phase);  // "forward", "backward", "input gradient" ...

}  // namespace trainyard
