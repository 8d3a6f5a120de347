// A FiredRule is what a rule on a run says when it fires: what it found where, and what to try.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/units.h"

namespace trainyard {

/// TensorRole says which tensors of a run rules are shown.
enum class TensorRole : std::uint8_t {
  Gradient,    // mean over the samples of the step, unscaled by the loss scale and before clipping
  Weight,      // after the update
  Update,      // weights after the update less those before it
  Output,      // of a layer, or of an activation function: units are active within its range
  LayerInput,  // of an activation function, as the layer gives it
  Image,       // input data of the model
};

struct FiredRule {
  std::string rule;       // the rule's name: "dead-relu"
  std::int64_t step = 0;  // after so many updates; 0 = the rule reads a timeline
  std::string where;      // "weight of \"fc1.weight\" in layers 3", "device 2", "loss"
  int layer = -1;         // of the model, counted over all blocks; -1 = none
  int device = -1;        // pipeline rank, or process of a recorded trace; -1 = none
  double found = 0, limit = 0;
  std::string sentence;  // what was found and its limit, with the step: one plain sentence
  std::string advice;    // what to try
  std::optional<TensorRole> role = {};  // of the tensor; nothing where it fires for none
  std::optional<Instant> at = {};       // where it shows in the timeline; nothing: at no place
  friend bool operator==(const FiredRule&, const FiredRule&) = default;
};

}  // namespace trainyard
