// Limits the number of cases that a test looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <type_traits>
#include <vector>

namespace trainyard::testing {

/// Returns whether this is a build with sanitizers, which make a program several times slower.
inline bool sanitized() { return std::getenv("TRAINYARD_FEWER_CASES") != nullptr; }

/// Returns `all`, or `some` in a build with sanitizers.
inline std::uint64_t cases(std::uint64_t all, std::uint64_t some) {
  return sanitized() ? some : all;
}

/// Returns all of a list, or every `apart`th of it from the first on in a build with sanitizers.
template <class Range>
auto sampled(const Range& list, std::size_t apart) {
  std::vector<std::remove_cvref_t<decltype(*std::begin(list))>> some;
  std::size_t i = 0;
  for (const auto& one : list)
    if (i++ % (sanitized() ? apart : 1) == 0) some.push_back(one);
  return some;
}

}  // namespace trainyard::testing
