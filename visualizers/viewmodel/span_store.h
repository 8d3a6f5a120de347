// A SpanStore holds the spans of many rows for looking at: millions of them, some 25 bytes each
// with its indices, so that a screenful can be asked for in a millisecond. Indices of spans are
// local to their row unless said otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

inline constexpr int kCategorySlots = 8;
/// Time in each category, ns.
using BusyTimes = std::array<std::int64_t, kCategorySlots>;

struct RowSpan {
  Instant start{}, end{};     // half-open; start == end is a mark that takes no time
  std::uint32_t name = 0;     // the caller's number
  std::uint8_t category = 0;  // < kCategorySlots; the caller's meaning
  friend bool operator==(const RowSpan&, const RowSpan&) = default;
};

/// One box to draw: a span (count 1) or several narrow neighbours; see folding.h. Half a cache
/// line, because a frame goes over tens of thousands.
struct Fold {
  std::uint32_t first = 0;                           // spans [first, first + count) of the row
  std::uint32_t count : 29 = 1;                      // as many as a row may have
  std::uint32_t category : 3 = 0;                    // the one with most time, the lowest of equals
  Instant start{}, end{};                            // of the first and of the last
  std::array<std::uint8_t, kCategorySlots> share{};  // time in each category, 255: all of it
  friend bool operator==(const Fold&, const Fold&) = default;
};
static_assert(sizeof(Fold) == 32);

/// The folds of a whole row in bins of 2^shift ns.
struct FoldLevel {
  int shift = 0;
  std::size_t first = 0;  // of its part of SpanStore::folds
  std::uint32_t count = 0;
};

inline constexpr std::uint32_t kMostSpans = (1u << 29) - 1;  // of a row

/// Spans of a block of SpanStore::busy_before.
inline constexpr std::uint32_t kBusyBlock = 64;
/// Spans of a node of the finest level of SpanStore::longest, and nodes of one of the level above.
inline constexpr std::uint32_t kLongestFan = 16;
/// Nodes of a level over so many spans, or over so many nodes of the level below.
constexpr std::uint32_t longest_nodes(std::uint32_t below) {
  return (below + kLongestFan - 1) / kLongestFan;
}

inline constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

struct SpanRow {
  std::size_t first = 0;  // of the row's spans in the arrays below
  std::uint32_t count = 0;
  std::uint32_t covered_by = kNoRow;  // the row beneath whose spans time here is not "self":
                                      // children, or compute over comm
  std::size_t longest = 0;            // of the row's part of SpanStore::longest
  std::size_t blocks = 0;             // of the row's part of SpanStore::busy_before
  std::uint32_t first_level = 0;      // of the row's part of SpanStore::fold_levels
  std::uint32_t levels = 0;           // each an octave above the one before
};

struct SpanStore {
  std::vector<SpanRow> rows;
  // One entry a span, row after row, by start within a row.
  std::vector<std::int64_t> start, end;  // ns
  std::vector<std::uint32_t> name;
  std::vector<std::uint8_t> category;
  // Indices, made by index_spans (span_index.h) after the last add_row.
  std::vector<std::uint32_t> longest;  // a row's levels, finest first: longest of 16 spans, of 256,
                                       // ...
  std::vector<BusyTimes> busy_before;  // a row's time before each block of 64 spans, and after the
                                       // last
  // Folds of zooms at which a bin holds 16 spans and more, so that a frame never reads them all.
  std::vector<FoldLevel> fold_levels;
  std::vector<Fold> folds;
};

/// Appends a row. Spans are sorted by start and do not overlap; throws Error{InvalidInput}
/// otherwise, naming the span, also for a category out of range, for times beyond 2^61 ns (73
/// years) and for more than kMostSpans.
void add_row(SpanStore&, const std::vector<RowSpan>&, std::uint32_t covered_by = kNoRow);
/// The same from span_of(0) to span_of(count - 1), with no copy between.
template <class SpanOf>
void add_row(SpanStore&, std::uint32_t count, const SpanOf& span_of,
             std::uint32_t covered_by = kNoRow);
/// Makes room for that many spans; saves moving them while rows are added.
void reserve_spans(SpanStore&, std::size_t);
// Everything below needs the indices.

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
/// The same over whole spans [first, last) of the row.
BusyTimes busy_times(const SpanStore&, std::uint32_t row, std::uint32_t first, std::uint32_t last);
/// The same over all categories, within [from, to).
Duration busy_time(const SpanStore&, std::uint32_t row, Instant from, Instant to);

/// What the arrays take, by capacity.
std::size_t resident_bytes(const SpanStore&);

/// Throws when a span may not follow one that ended at `before`; see add_row.
void check_span(const RowSpan&, Instant before, std::size_t row, std::size_t index);

template <class SpanOf>
void add_row(SpanStore& store, std::uint32_t count, const SpanOf& span_of,
             std::uint32_t covered_by) {
  const std::size_t first = store.start.size();
  reserve_spans(store, first + count);
  Instant before = Instant::min();
  for (std::uint32_t i = 0; i < count; ++i) {
    const RowSpan span = span_of(i);
    check_span(span, before, store.rows.size(), i);
    before = span.end;
    store.start.push_back(span.start.count());
    store.end.push_back(span.end.count());
    store.name.push_back(span.name);
    store.category.push_back(span.category);
  }
  store.rows.push_back({first, count, covered_by});
}

}  // namespace trainyard
