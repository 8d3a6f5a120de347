// Who owns the memory at a device's crest: activations by the module that makes them and by kind of
// operator, and what is held whole though it could be divided.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/experiment.h"

namespace trainyard {

/// What one module keeps for backward, over its layers and the microbatches in flight.
struct ModuleOwner {
  std::string block, module;  // "layers", "q_proj"; module "input": what the layer is given
  std::string_view kind;      // "matmul", "attention": its op; "" of an input
  Bytes bytes{};
  int layers = 0, microbatches = 0;  // layers of the device; most in flight of a stage
};

/// A block whose layers are gathered in full while they run (ZeRO 3), or whose gradients are whole
/// until they are scattered (ZeRO 2 and 3).
struct UnshardedUnit {
  std::string block;
  int layers = 0;                // of the device; each is a unit
  Bytes weights{}, gradients{};  // of one unit
  bool stays = false;  // its weights from forward to backward, with those of all other units
};

struct Owners {
  DeviceId device;
  Instant at{};
  std::string phase;                 // what the device was doing
  CategoryBytes categories{};        // at the crest
  std::vector<ModuleOwner> modules;  // largest first; they and `others` sum to the activations
  /// Activations that no module made, largest first: gradients on their way to a weight pass, what
  /// a framework keeps of a stage's messages.
  std::vector<std::pair<std::string, Bytes>> others;
  std::vector<UnshardedUnit> units;         // largest first
  Bytes unsharded_now{}, unsharded_most{};  // of units: at the crest, and at any time in a step
  /// State that is not divided: "weights", "gradients", "optimizer state", with its bytes, and on
  /// how many replicas each of them stands.
  std::vector<std::pair<std::string, Bytes>> replicated;
  std::int64_t replicas = 1;
};

/// Of the device whose crest is highest. The experiment must be of order grain.
Owners owners(const Experiment&);

}  // namespace trainyard
