// A Boundary is what a stage hands to its neighbours. It is held after the stage has made it and
// before the next has taken it: in a message if they are on two devices, else on the device of
// both. The next stage's first op that takes it releases it at its start and allocates what it
// keeps or reads in its place, so that the bytes change hands. Nothing is held if the stage keeps
// the output for its own backward anyway.
#pragma once

#include <vector>

#include "core/lowering/draft.h"
#include "core/lowering/stage_copies.h"

namespace trainyard {

/// The boundary buffers of one place. A buffer is invalid if there is nothing to hold.
struct Boundary {
  // Activations; on one device, the forward_out of a stage is the forward_in of the next.
  BufferId forward_in, forward_out;
  BufferId backward_in, backward_out;                        // gradients
  bool receives_forward = false, receives_backward = false;  // ins that a receive allocates
  bool sends_forward = false, sends_backward = false;        // outs that a send releases
};

class Boundaries {
 public:
  Boundaries(const Workload&, const StageCopies&, Draft&);
  const Boundary& operator[](std::size_t place) const { return list_[place]; }

 private:
  void connect(const Workload&, const StageCopies&, Draft&, std::size_t place, bool forward);
  std::vector<Boundary> list_;
};

/// The layers of a stage in order, without those that have no op of forward (or of backward).
struct LayerOfStage {
  const Body* body = nullptr;
  int layer = 0;  // index in the model
};
std::vector<LayerOfStage> layers_of(const Workload&, StageId, bool forward);

}  // namespace trainyard
