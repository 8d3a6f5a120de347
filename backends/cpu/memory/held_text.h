// Describes the owners of a device's bytes in words, for the end of an out-of-memory message.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/program/program.h"

namespace trainyard {

/// One buffer that is held.
struct Held {
  BufferId buffer;
  std::int32_t microbatch = -1;  // -1: persistent
  Bytes bytes{};
};

/// A text such as "252 MiB are held: activations 180 MiB (layers: scores 90.0 MiB of 4 layers in 6
/// microbatches, ... and 5 more 12.0 MiB), weights 71.5 MiB (...)", by category, then by owner,
/// largest first; or "nothing is held".
std::string held_text(const Program&, std::span<const Held>);

}  // namespace trainyard
