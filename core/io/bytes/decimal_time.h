// Times as traces write them: decimal numbers of some unit, kept to the nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

/// No reader of traces takes a time beyond this, ns either way: 73 years.
inline constexpr std::int64_t kFarthestTime = std::int64_t{1} << 61;

/// Nanoseconds of a number of units, each of unit ns (1, 1000, ... 10^9): exact to the nanosecond,
/// half away from zero; with an exponent as exact as a double. Nothing where the text is no such
/// number or beyond kFarthestTime.
std::optional<std::int64_t> nanoseconds_of(std::string_view text, std::int64_t unit);

}  // namespace trainyard
