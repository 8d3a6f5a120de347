// What is said when no instruction can go on.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/error.h"
#include "core/program/program.h"

namespace trainyard {

/// Error{InvalidInput} naming the streams that still wait (16 at most) and at what. next: by
/// stream, how many of its instructions have ended.
Error deadlock(const Program&, std::span<const std::uint32_t> next);

}  // namespace trainyard
