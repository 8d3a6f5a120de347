// What needs memory, how much and when: the input of every placement.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/units.h"

namespace trainyard {

/// Something that needs `bytes` from `from` until `to` (half-open). One that ends where it begins,
/// or needs nothing, is never there.
struct Lifetime {
  std::int64_t from = 0, to = 0;
  Bytes bytes{};
};

inline bool ever_there(const Lifetime& life) { return life.from < life.to && life.bytes.value > 0; }
inline bool meet(const Lifetime& a, const Lifetime& b) { return a.from < b.to && b.from < a.to; }

/// What it takes of an arena whose places are multiples of `alignment` (at least 1 byte).
constexpr std::int64_t rounded_up(Bytes bytes, Bytes alignment) {
  return (bytes.value + alignment.value - 1) / alignment.value * alignment.value;
}

/// Most alive at once, each rounded up: no placement reaches less.
Bytes most_alive(std::span<const Lifetime>, Bytes alignment);

}  // namespace trainyard
