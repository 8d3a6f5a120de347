// Sums of what happens by name over blocks of spans, so that a table of a range over millions of
// them is added up from thousands of blocks. Percentiles come from counts of lengths and are as
// good as those.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "visualizers/viewmodel/span_store.h"

namespace trainyard {

inline constexpr std::uint32_t kSummedSpans = 2048;  // of a row, in one block
inline constexpr int kSummedBits = 5;                // see bucket_of: within 1/64 of a length

/// What one name and category have in one block.
struct NameSum {
  std::uint32_t name = 0;
  std::uint8_t category = 0;
  std::uint32_t count = 0;
  std::int64_t sum = 0, self = 0, shortest = 0, longest = 0;  // ns, as NameStatistics
  std::uint32_t first_count = 0;                              // of its part of NameSums::counts
  std::uint32_t counts = 0;
};

struct LengthCount {
  std::uint16_t bucket = 0, count = 0;
};

/// Belongs to one indexed store; about half a byte a span where names repeat.
struct NameSums {
  struct Row {
    // Of its blocks, the first of each in `sums`; and the end. A block of more than 64 names has
    // none: its spans are to be looked at.
    std::vector<std::uint32_t> blocks;
    std::vector<NameSum> sums;
    std::vector<LengthCount> counts;
  };
  std::vector<Row> rows;
};

/// Linear in the spans; on all processors. Blocks. Once stopped it comes back soon, with sums of
/// nothing.
NameSums sum_names(const SpanStore&, const std::stop_token& = {});

/// What the arrays take, by capacity.
std::size_t resident_bytes(const NameSums&);

}  // namespace trainyard
