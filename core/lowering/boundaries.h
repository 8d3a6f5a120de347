// What a stage hands to its neighbours is held after the stage has made it and before the next has
// taken it: in a message where they are on two devices, else by the device of both. The next
// stage's first op that takes it has it released at its start, when it allocates what it keeps or
// reads in its place: the bytes change hands. Nothing is held beside an output that the stage keeps
// for its own backward anyway.
#pragma once

#include <vector>

#include "core/lowering/draft.h"
#include "core/lowering/stage_copies.h"

namespace trainyard {

/// Of one place. Invalid where there is nothing to hold.
struct Boundary {
  BufferId forward_in, forward_out;    // activations; the one before's out is the next one's in on
  BufferId backward_in, backward_out;  // one device. Gradients
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

/// The layers of a stage in order, those that have no op of forward (or backward) left out.
struct LayerOfStage {
  const Body* body = nullptr;
  int layer = 0;  // of the model
};
std::vector<LayerOfStage> layers_of(const Workload&, StageId, bool forward);

}  // namespace trainyard
