// Owners says who owns the memory at a device's peak: activations by the module that makes them and
// by kind of operator, and what is held whole although it could be divided.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/experiment.h"

namespace trainyard {

/// A ModuleOwner is what one module keeps for backward, over its layers and the microbatches in
/// flight.
struct ModuleOwner {
  std::string block, module;  // "layers", "q_proj"; the module "input" is the layer's input
  std::string_view kind;      // "matmul", "attention": its op; "" for an input
  Bytes bytes{};
  int layers = 0, microbatches = 0;  // layers on the device; most microbatches in flight of a stage
};

/// An UnshardedUnit is a block whose layers are gathered in full while they run (ZeRO 3), or whose
/// gradients are whole until they are scattered (ZeRO 2 and 3).
struct UnshardedUnit {
  std::string block;
  int layers = 0;                // layers on the device; each is a unit
  Bytes weights{}, gradients{};  // of one unit
  bool stays = false;  // its weights stay from forward to backward, together with those of all
                       // other units
};

struct Owners {
  DeviceId device;
  Instant at{};
  std::string phase;                 // what the device was doing
  CategoryBytes categories{};        // at the peak
  std::vector<ModuleOwner> modules;  // largest first; they and `others` sum to the activations
  /// Activations that no module made, largest first: gradients that wait for a weight pass, and
  /// what a framework keeps of a stage's messages.
  std::vector<std::pair<std::string, Bytes>> others;
  std::vector<UnshardedUnit> units;         // largest first
  Bytes unsharded_now{}, unsharded_most{};  // bytes of units: at the peak, and the most at any time
                                            // in a step
  /// State that is not divided ("weights", "gradients", "optimizer state") with its bytes, and the
  /// number of replicas that hold each.
  std::vector<std::pair<std::string, Bytes>> replicated;
  std::int64_t replicas = 1;
};

/// Returns the owners for the device with the highest peak. The experiment must be at order grain.
Owners owners(const Experiment&);

}  // namespace trainyard
