// Limits the number of cases that a test looks at.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace trainyard::testing {

/// Returns whether this is a build with sanitizers, which make a program several times slower.
inline bool sanitized() { return std::getenv("TRAINYARD_FEWER_CASES") != nullptr; }

/// Returns `all`, or `some` in a build with sanitizers.
inline std::uint64_t cases(std::uint64_t all, std::uint64_t some) {
  return sanitized() ? some : all;
}

}  // namespace trainyard::testing
