// A Lifetime says how much memory something needs and when; lifetimes are the input of every
// placement.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/units.h"

namespace trainyard {

/// The bytes are needed in [from, to). A lifetime that ends where it begins, or needs no bytes, is
/// never there.
struct Lifetime {
  std::int64_t from = 0, to = 0;
  Bytes bytes{};
};

inline bool ever_there(const Lifetime& life) { return life.from < life.to && life.bytes.value > 0; }
inline bool meet(const Lifetime& a, const Lifetime& b) { return a.from < b.to && b.from < a.to; }

/// Returns the bytes taken in an arena whose offsets are multiples of `alignment` (at least 1
/// byte).
constexpr std::int64_t rounded_up(Bytes bytes, Bytes alignment) {
  return (bytes.value + alignment.value - 1) / alignment.value * alignment.value;
}

/// Returns the most bytes alive at once, each lifetime rounded up; no placement reaches less.
Bytes most_alive(std::span<const Lifetime>, Bytes alignment);

}  // namespace trainyard
