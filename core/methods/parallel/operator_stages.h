// Inter-operator concurrency: independent operators of a layer, such as the branches of an
// inception block or a weight gradient beside an input gradient, run side by side on the cores of
// one device. The layer's forward and backward are cut into stages; a stage has a group of
// operators for each core, and ends when the last core has.
//
//   one core    conv1 conv2 conv3 conv4 add           two cores   conv1 conv2 | add
//                                                                 conv3 conv4 |
//
// A plan states the stages as text, so that what is shown, saved and executed is the same:
//
//   0.forward:0-2;3,4|5;6/0.backward:0|1;2-6
//
// That is, for the block with that index in the model, ranges of the layer's ops in their own
// order: `;` ends a stage, `|` separates its cores, `,` joins ranges. Each op is listed once. A
// forward or backward that is not listed runs on one core. planners/branches finds the stages of
// least time where a scenario is opened with operator-stages=concurrent.
//
// Ding et al., "IOS: Inter-Operator Scheduler for CNN Acceleration", MLSys 2021.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/methods/layers/body.h"

namespace trainyard {

inline constexpr std::string_view kOperatorStages = "operator-stages", kStagesOfOps = "stages",
                                  kCoresOfDevice = "cores", kNoOperatorStages = "off",
                                  kConcurrentOperators = "concurrent";

/// The stages of the forward or backward of one kind of layer: by stage and core, ops by index.
struct StagedOps {
  int block = 0;  // index into Model::blocks
  bool backward = false;
  std::vector<std::vector<std::vector<int>>> stages;
  friend bool operator==(const StagedOps&, const StagedOps&) = default;
};

/// Throws Error{InvalidInput} with place for text of another form, for an op that is listed twice
/// in one forward or backward, and for more than 100,000 ops.
std::vector<StagedOps> parse_operator_stages(std::string_view, const Place&);
/// The text that parse_operator_stages() reads.
std::string to_text(const std::vector<StagedOps>&);

/// Cores that each device runs its operators on: 1 unless the plan has stages of several.
int cores_of_device(const Plan&);

/// Puts the ops of a layer into the order of the stages and says which run beside each other.
/// Throws Error{InvalidInput} if the stages do not have each op once, or if an op would run before
/// or beside another that it waits for (core/methods/layers/layer_operators.h).
void stage_operators(Body&, const Graph&, const Layout&, const StagedOps&);

}  // namespace trainyard
