// A placement problem in its smallest terms: time in sections between which nobody begins or ends,
// sizes in the largest unit that divides them all, and apart what no lifetime joins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/memory/lifetime.h"

namespace trainyard {

/// A stretch of time that no lifetime enters or leaves while it lasts.
struct ArenaPart {
  std::vector<Lifetime> buffers;  // times are sections from 0 on, bytes are units
  std::vector<std::uint32_t> of;  // which of the given lifetimes each is, ascending
  int sections = 0;
  std::int64_t lower_bound = 0;  // most units alive at once
};

struct ArenaParts {
  std::vector<ArenaPart> parts;  // in order of time
  std::int64_t unit = 1;         // bytes, a multiple of the alignment
};

/// What is never there is in no part. alignment >= 1 byte.
ArenaParts arena_parts(std::span<const Lifetime>, Bytes alignment);

}  // namespace trainyard
