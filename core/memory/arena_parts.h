// This file reduces a placement problem to its smallest form: time becomes sections within which no
// lifetime begins or ends, sizes become multiples of the largest unit that divides them all, and
// sets of lifetimes that never overlap in time become separate parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/memory/lifetime.h"

namespace trainyard {

/// An ArenaPart is a stretch of time whose ends no lifetime crosses.
struct ArenaPart {
  std::vector<Lifetime> buffers;  // times are sections from 0 on, sizes are in units
  std::vector<std::uint32_t> of;  // index of the given lifetime of each buffer, ascending
  int sections = 0;
  std::int64_t lower_bound = 0;  // most units alive at once
};

struct ArenaParts {
  std::vector<ArenaPart> parts;  // in order of time
  std::int64_t unit = 1;         // in bytes, a multiple of the alignment
};

/// Lifetimes that are empty are in no part. alignment >= 1 byte.
ArenaParts arena_parts(std::span<const Lifetime>, Bytes alignment);

}  // namespace trainyard
