#include "visualizers/viewmodel/span_store.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr std::int64_t kFarthest = std::int64_t{1} << 61;

// Which rule of check_span the span breaks, in words.
[[noreturn]] void refuse_span(const RowSpan& span, Instant before, std::size_t row,
                              std::size_t index) {
  std::string why = "category " + std::to_string(span.category) +
                    " does not exist; expected 0 to " + std::to_string(kCategorySlots - 1);
  if (span.end < span.start)
    why = "a span ends before it starts; expected end >= start";
  else if (span.start < before)
    why = "a span starts before the one before it ends; expected spans in order, side by side";
  else if (span.start.count() < -kFarthest || span.end.count() > kFarthest)
    why = "a time is beyond 73 years";
  else if (index >= kMostSpans)
    why = "a row has more than " + std::to_string(kMostSpans) +
          " spans; expected no more, so read a range of it";
  throw Error(Error::Kind::InvalidInput, why,
              {"row " + std::to_string(row) + ", span " + std::to_string(index)});
}

std::int64_t length(const SpanStore& store, std::size_t global) {
  return store.end[global] - store.start[global];
}

void add_scan(const SpanStore& store, const SpanRow& row, std::uint32_t first, std::uint32_t last,
              BusyTimes& busy) {
  for (std::uint32_t i = first; i < last; ++i)
    busy[store.category[row.first + i]] += length(store, row.first + i);
}

// Whole spans [first, last) of the row.
void add_whole(const SpanStore& store, const SpanRow& row, std::uint32_t first, std::uint32_t last,
               BusyTimes& busy) {
  const std::uint32_t low = (first + kBusyBlock - 1) / kBusyBlock, high = last / kBusyBlock;
  if (low >= high) return add_scan(store, row, first, last, busy);
  add_scan(store, row, first, low * kBusyBlock, busy);
  add_scan(store, row, high * kBusyBlock, last, busy);
  const BusyTimes& from = store.busy_before[row.blocks + low];
  const BusyTimes& to = store.busy_before[row.blocks + high];
  for (std::size_t c = 0; c < kCategorySlots; ++c) busy[c] += to[c] - from[c];
}

}  // namespace

void check_span(const RowSpan& span, Instant before, std::size_t row, std::size_t index) {
  const bool in_order = span.end >= span.start && span.start >= before;
  const bool in_reach = span.start.count() >= -kFarthest && span.end.count() <= kFarthest;
  if (!in_order || !in_reach || span.category >= kCategorySlots || index >= kMostSpans)
    refuse_span(span, before, row, index);
}

void reserve_spans(SpanStore& store, std::size_t spans) {
  // Where there is no end in sight, doubling keeps the cost of a span constant.
  if (spans <= store.start.capacity()) return;
  spans = std::max(spans, store.start.empty() ? 0 : 2 * store.start.capacity());
  store.start.reserve(spans);
  store.end.reserve(spans);
  store.name.reserve(spans);
  store.category.reserve(spans);
}

void add_row(SpanStore& store, const std::vector<RowSpan>& spans, std::uint32_t covered_by) {
  add_row(
      store, static_cast<std::uint32_t>(spans.size()), [&](std::uint32_t i) { return spans[i]; },
      covered_by);
}

RowSpan span_at(const SpanStore& store, std::uint32_t row, std::uint32_t index) {
  const std::size_t i = store.rows[row].first + index;
  return {Instant{store.start[i]}, Instant{store.end[i]}, store.name[i], store.category[i]};
}

SpanWindow window(const SpanStore& store, std::uint32_t row, Instant from, Instant to) {
  const SpanRow& r = store.rows[row];
  if (to <= from || r.count == 0) return {};
  const std::int64_t* start = &store.start[r.first];
  const std::int64_t* end = &store.end[r.first];
  if (from.count() <= start[0] && to.count() > start[r.count - 1]) return {0, r.count};
  // Ends ascend like starts because spans do not overlap.
  const std::int64_t* low = std::upper_bound(end, end + r.count, from.count());
  auto first = static_cast<std::uint32_t>(low - end);
  if (first > 0 && start[first - 1] >= from.count())  // marks without length that stand at `from`
    first =
        static_cast<std::uint32_t>(std::lower_bound(start, start + first, from.count()) - start);
  const auto last = static_cast<std::uint32_t>(
      std::lower_bound(start + first, start + r.count, to.count()) - start);
  return {first, last};
}

std::uint32_t longest_of(const SpanStore& store, std::uint32_t row, std::uint32_t first,
                         std::uint32_t last) {
  const SpanRow& r = store.rows[row];
  std::uint32_t best = first;
  std::int64_t most = -1;
  const auto consider = [&](std::uint32_t span) {
    const std::int64_t taken = length(store, r.first + span);
    if (taken > most || (taken == most && span < best)) most = taken, best = span;
  };
  // Level 0 is the spans themselves; nodes of a level that share no parent inside the range are
  // looked at one by one.
  const std::uint32_t* level = nullptr;
  const std::uint32_t* above = store.longest.data() + r.longest;
  std::uint32_t above_nodes = longest_nodes(r.count);
  const auto look = [&](std::uint32_t n) { consider(level == nullptr ? n : level[n]); };
  while (first < last) {
    while (first < last && first % kLongestFan != 0) look(first++);
    while (first < last && last % kLongestFan != 0) look(--last);
    first /= kLongestFan;
    last /= kLongestFan;
    level = above;
    above += above_nodes;
    above_nodes = longest_nodes(above_nodes);
  }
  return best;
}

BusyTimes busy_times(const SpanStore& store, std::uint32_t row, Instant from, Instant to) {
  BusyTimes busy{};
  const SpanRow& r = store.rows[row];
  const SpanWindow w = window(store, row, from, to);
  if (w.empty()) return busy;
  add_whole(store, r, w.first, w.last, busy);
  const std::size_t first = r.first + w.first, last = r.first + w.last - 1;
  busy[store.category[first]] -= std::max<std::int64_t>(0, from.count() - store.start[first]);
  busy[store.category[last]] -= std::max<std::int64_t>(0, store.end[last] - to.count());
  return busy;
}

BusyTimes busy_times(const SpanStore& store, std::uint32_t row, std::uint32_t first,
                     std::uint32_t last) {
  BusyTimes busy{};
  add_whole(store, store.rows[row], first, last, busy);
  return busy;
}

Duration busy_time(const SpanStore& store, std::uint32_t row, Instant from, Instant to) {
  const BusyTimes busy = busy_times(store, row, from, to);
  return Duration{std::accumulate(busy.begin(), busy.end(), std::int64_t{0})};
}

std::size_t resident_bytes(const SpanStore& store) {
  return store.rows.capacity() * sizeof(SpanRow) + store.start.capacity() * sizeof(std::int64_t) +
         store.end.capacity() * sizeof(std::int64_t) +
         store.name.capacity() * sizeof(std::uint32_t) + store.category.capacity() +
         store.longest.capacity() * sizeof(std::uint32_t) +
         store.busy_before.capacity() * sizeof(BusyTimes) +
         store.fold_levels.capacity() * sizeof(FoldLevel) + store.folds.capacity() * sizeof(Fold);
}

}  // namespace trainyard
