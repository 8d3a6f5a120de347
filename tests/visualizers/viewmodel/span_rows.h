// Makes rows of spans for tests, with reference results from a plain loop.
#pragma once

#include <random>
#include <vector>

#include "visualizers/viewmodel/span_index.h"

namespace trainyard::testing_rows {

/// Spans side by side with gaps, some without length; lengths over six orders of magnitude.
inline std::vector<RowSpan> random_row(std::uint32_t seed, int count,
                                       std::int64_t from = -1'000'000) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  std::vector<RowSpan> row;
  std::int64_t at = from;
  for (int i = 0; i < count; ++i) {
    if (below(3) == 0) at += below(10'000);
    const std::int64_t length = below(8) == 0 ? 0 : below(10) == 0 ? below(1'000'000) : below(500);
    row.push_back({Instant{at}, Instant{at + length}, static_cast<std::uint32_t>(below(12)),
                   static_cast<std::uint8_t>(below(8))});
    at += length;
  }
  return row;
}

inline SpanStore store_of(const std::vector<std::vector<RowSpan>>& rows) {
  SpanStore store;
  for (const auto& row : rows) add_row(store, row);
  index_spans(store);
  return store;
}

inline bool touches(const RowSpan& span, Instant from, Instant to) {
  return from < to && span.start < to &&
         (span.end > from || (span.start == span.end && span.start >= from));
}

}  // namespace trainyard::testing_rows
