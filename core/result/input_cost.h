// InputCost says how long the stages of a node's input take for the samples of one step, and how
// long the step waits for the slowest of them (core/methods/data/input.cpp). It is the only
// definition: results, the closed form and planners ask here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"

namespace trainyard {

struct InputStage {
  std::string_view name;  // "storage", "disk", "decoding", "copy"
  Duration time{};        // for the samples of one step
};

/// All figures are of the node that needs most samples.
struct InputCost {
  double samples = 0;                       // of a step
  double memory_share = 0, disk_share = 0;  // of the samples: decoded in memory, stored on disk
  Bytes memory{}, disk{};                   // held by the caches when they are full
  std::vector<InputStage> stages;           // those that the cluster has, in order of data flow
  std::size_t slowest = 0;                  // index into stages
  Duration waiting{};                       // of a step, for the slowest stage
  std::string sentence;  // says whether input keeps up and, where it does not, what would help
  std::string_view slowest_stage() const { return stages[slowest].name; }
};

/// Returns the time of the slowest stage, which no step of the plan is shorter than; 0 where the
/// plan states no input. The plan is complete.
Duration input_time(const Scenario&);
/// Returns nothing where the plan states no input. `step`: as long as it is with its samples at
/// hand.
std::optional<InputCost> input_cost(const Scenario&, Duration step);

}  // namespace trainyard
