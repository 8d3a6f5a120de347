// A few rows of a table take most of its look-ups. Zipf's law says how many: row r, counted from 0,
// is looked up in proportion to the integral of 1 / x^s from r + 1 to r + 2. A cache of the rows
// that are looked up most often then has a hit rate that is known beforehand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// Returns the row at which the share u of look-ups, in [0, 1), is reached. rows >= 1, exponent >
/// 0.
std::int64_t zipf_row(double u, std::int64_t rows, double exponent);

/// Returns the share of look-ups that go to the first rows of all, in [0, 1]: the hit rate of a
/// cache of so many of the most frequent rows.
double zipf_share(std::int64_t first, std::int64_t rows, double exponent);

/// Returns how many of the first rows so many look-ups of the table reach, on average.
double zipf_reached(std::int64_t first, std::int64_t rows, double exponent, std::int64_t lookups);

/// Returns the rows that are looked up most often, at most `capacity`, in rising order; of equally
/// frequent ones the lower row goes first. This is what a cache that evicts the least frequently
/// used row holds once it has seen all of these look-ups.
std::vector<std::int64_t> most_frequent(std::span<const std::int64_t> lookups,
                                        std::int64_t capacity);

}  // namespace trainyard
