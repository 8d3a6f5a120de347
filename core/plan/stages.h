// The table of stages that follows from model and plan: which layers, which device, derived and
// never stored.
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/plan/placement.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Some identical layers of one block, in a row.
struct LayerRun {
  int block = 0;  // index into Model::blocks
  int count = 1;
  int first = 0;  // index of the first of them within the block
};

struct Stage {
  DeviceId device;             // pipeline rank; of its first copy
  std::vector<LayerRun> runs;  // in order of data flow
};

/// One entry a virtual stage. Blocks that are not layers go with the layer before them; those ahead
/// of all layers with the first stage, those after all with the last. Throws Error{InvalidInput}
/// when the split does not add up (see check_split).
std::vector<Stage> stages(const Model&, const Plan&, Placement = Placement::Cyclic);
/// How many layers each of those has.
std::vector<int> stage_layers(const Model&, const Plan&);
/// What is wrong with the split: layers that do not divide, a sum that is not the model's, a
/// negative number, a stage without any layer or block.
Diagnostics check_split(const Model&, const Plan&);

}  // namespace trainyard
