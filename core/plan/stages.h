// This file derives the table of stages from model and plan: which layers each stage has and which
// device holds it. The table is never stored.
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/plan/placement.h"
#include "core/plan/plan.h"

namespace trainyard {

/// A LayerRun is a number of consecutive identical layers of one block.
struct LayerRun {
  int block = 0;  // index into Model::blocks
  int count = 1;
  int first = 0;  // index of the run's first layer within the block
};

struct Stage {
  DeviceId device;             // pipeline rank that holds the stage (its first copy)
  std::vector<LayerRun> runs;  // in order of data flow
};

/// Returns one entry per virtual stage. Blocks that are not layers join the stage of the layer
/// before them; those before all layers join the first stage, those after all layers the last.
/// Throws Error{InvalidInput} when the split does not add up (see check_split).
std::vector<Stage> stages(const Model&, const Plan&, Placement = Placement::Cyclic);
/// Returns the number of layers of each stage.
std::vector<int> stage_layers(const Model&, const Plan&);
/// Returns what is wrong with the split: layers that do not divide, a sum that is not the model's,
/// a negative number, a stage without any layer or block.
Diagnostics check_split(const Model&, const Plan&);

}  // namespace trainyard
