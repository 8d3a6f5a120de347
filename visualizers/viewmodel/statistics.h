// What happened in a range of time, by name: the table under the timeline.
#pragma once

#include <stop_token>
#include <vector>

#include "visualizers/viewmodel/name_sums.h"
#include "visualizers/viewmodel/span_store.h"

namespace trainyard {

/// All figures are of the part of each span that lies in the range.
struct NameStatistics {
  std::uint32_t name = 0;
  std::uint8_t category = 0;
  std::uint64_t count = 0;  // spans that touch the range
  Duration sum{};
  Duration self{};  // sum less the time in which the covering row was busy; 0: fully hidden
  Duration shortest{}, longest{};
  Duration median{}, p95{};  // nearest rank: the smallest value that at least that part of the
                             // spans does not exceed

  Duration average() const {
    return count == 0 ? Duration{} : sum / static_cast<std::int64_t>(count);
  }
  friend bool operator==(const NameStatistics&, const NameStatistics&) = default;
};

/// One entry a pair of name and category that occurs in the rows within [from, to), by sum, largest
/// first, ties by name and category. Exact; O(spans in the range), on all processors. Once stopped
/// it comes back soon, with a table that says nothing.
std::vector<NameStatistics> range_statistics(const SpanStore&,
                                             const std::vector<std::uint32_t>& rows, Instant from,
                                             Instant to, const std::stop_token& = {});

/// The same from the store's sums, some ten times as fast where the range holds many spans.
/// Exact but for median and p95, which are within 1/64 of themselves, one bucket's width.
std::vector<NameStatistics> quick_statistics(const SpanStore&, const NameSums&,
                                             const std::vector<std::uint32_t>& rows, Instant from,
                                             Instant to);

/// Sum over range and rows, as a fraction: 1 means busy all the time in all of them. 0 for an empty
/// range.
double share_of_range(Duration sum, Instant from, Instant to, std::size_t rows = 1);

}  // namespace trainyard
