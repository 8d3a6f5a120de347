// This file says where a training's samples come from, and how fast a node can make them ready
// (input.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/units.h"
#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kSampleInput = "input";
inline constexpr std::string_view kInputFrom = "from";  // its parameter
inline constexpr std::string_view kNoInput = "none";

/// An InputPlan describes one node: it reads samples, decodes them on cores of its own and copies
/// them to its devices.
struct InputPlan {
  bool cached = false;           // else everything is read and decoded again in every epoch
  Bytes stored{}, decoded{};     // of one sample: in the storage, and as a device gets it
  Duration decoding{};           // of one sample on one core
  std::int64_t cores = 1;        // of a node that decode
  BytesPerSecond storage{};      // a node's share of the storage that all nodes read
  BytesPerSecond disk{};         // of a node's own disk
  Bytes memory{}, disk_space{};  // of a node, for decoded and for stored samples
  bool first_epoch = false;      // in which no cache has anything
  std::int64_t samples = 1;      // of the data set
};
/// Returns nothing where samples are taken to be at hand whenever a step begins.
std::optional<InputPlan> input_of(const Plan&);

}  // namespace trainyard
