// How many of its cases a test looks at.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace trainyard::testing {

/// Whether this is a build with sanitizers, which make a program several times slower.
inline bool sanitized() { return std::getenv("TRAINYARD_FEWER_CASES") != nullptr; }

/// `all`; with sanitizers the first `some`.
inline std::uint64_t cases(std::uint64_t all, std::uint64_t some) {
  return sanitized() ? some : all;
}

}  // namespace trainyard::testing
