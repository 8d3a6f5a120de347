// A SpanStore holds the spans of many rows for looking at: millions of them, 23.4 bytes each with
// its indices, so that a screenful can be asked for in a millisecond. Indices of spans are local to
// their row unless said otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

inline constexpr int kCategorySlots = 8;
inline constexpr std::uint32_t kGroupSpans = 16;
/// Time in each category, ns.
using BusyTimes = std::array<std::int64_t, kCategorySlots>;

struct RowSpan {
  Instant start{}, end{};     // half-open; start == end is a mark that takes no time
  std::uint32_t name = 0;     // the caller's number
  std::uint8_t category = 0;  // < kCategorySlots; the caller's meaning
  friend bool operator==(const RowSpan&, const RowSpan&) = default;
};

inline constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

struct SpanRow {
  std::size_t first = 0;  // of the row's spans in the arrays below
  std::uint32_t count = 0;
  std::uint32_t covered_by = kNoRow;  // the row beneath whose spans time here is not "self":
                                      // children, or compute over comm
  std::size_t longest = 0;            // of the row's part of SpanStore::longest
  std::size_t groups = 0;  // of the row's part of SpanStore::group_start and its neighbours
  std::size_t blocks = 0;  // of the row's part of SpanStore::busy_before
};

struct SpanStore {
  std::vector<SpanRow> rows;
  // One entry a span, row after row, by start within a row.
  std::vector<std::int64_t> start, end;  // ns
  std::vector<std::uint32_t> name;
  std::vector<std::uint8_t> category;
  // Indices, made by index_spans.
  std::vector<std::uint32_t> longest;  // a row's levels, finest first: longest of 16 spans, of 256,
                                       // ...
  std::vector<BusyTimes> busy_before;  // a row's time before each block of 64 spans, and after the
                                       // last
  // Each 16 spans as one: start of the first, end of the last, and the category with most time.
  std::vector<std::int64_t> group_start, group_end;
  std::vector<std::uint8_t> group_category;
};

/// Appends a row. Spans are sorted by start and do not overlap; throws Error{InvalidInput}
/// otherwise, naming the span, also for a category out of range and for times beyond 2^61 ns (73
/// years).
void add_row(SpanStore&, const std::vector<RowSpan>&, std::uint32_t covered_by = kNoRow);
/// Builds the indices of all rows; call it once, after the last add_row. Everything below needs it.
void index_spans(SpanStore&);

/// The category with most time, the lowest of equals.
std::uint8_t busiest(const BusyTimes&);

RowSpan span_at(const SpanStore&, std::uint32_t row, std::uint32_t index);

/// [first, last)
struct SpanWindow {
  std::uint32_t first = 0, last = 0;
  bool empty() const { return first == last; }
};
/// The spans that touch [from, to); marks without length count where from <= start < to. Two binary
/// searches.
SpanWindow window(const SpanStore&, std::uint32_t row, Instant from, Instant to);

/// The longest of [first, last), the earliest of equals; first < last. O(16 log16 n).
std::uint32_t longest_of(const SpanStore&, std::uint32_t row, std::uint32_t first,
                         std::uint32_t last);

/// Exact time in each category within [from, to), from two partial blocks and the sums of whole
/// ones.
BusyTimes busy_times(const SpanStore&, std::uint32_t row, Instant from, Instant to);
/// The same over all categories.
Duration busy_time(const SpanStore&, std::uint32_t row, Instant from, Instant to);

/// What the arrays take, by capacity.
std::size_t resident_bytes(const SpanStore&);

}  // namespace trainyard
