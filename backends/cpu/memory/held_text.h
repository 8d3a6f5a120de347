// Whose the bytes of a device are, in words: the end of an out-of-memory message.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/program/program.h"

namespace trainyard {

/// A buffer that is held, once.
struct Held {
  BufferId buffer;
  std::int32_t microbatch = -1;  // -1: persistent
};

/// "252 MiB are held: activations 180 MiB (layers: scores 90.0 MiB of 4 layers in 6 microbatches,
/// ... and 5 more 12.0 MiB), weights 71.5 MiB (...)": categories, then owners by name, largest
/// first; "nothing is held".
std::string held_text(const Program&, std::span<const Held>);

}  // namespace trainyard
