// This file reads times as traces write them: decimal numbers of some unit, to the nanosecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

/// Largest time that readers of traces accept, in ns in either direction: 73 years.
inline constexpr std::int64_t kFarthestTime = std::int64_t{1} << 61;

/// Returns the nanoseconds of a number of units of `unit` ns each (1, 1000, ... 10^9). The result
/// is exact to the nanosecond and rounds half away from zero; a number with an exponent is as exact
/// as a double. Returns nothing where the text is no such number or beyond kFarthestTime.
std::optional<std::int64_t> nanoseconds_of(std::string_view text, std::int64_t unit);

}  // namespace trainyard
