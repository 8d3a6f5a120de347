#include "visualizers/viewmodel/span_store.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr std::uint32_t kFan = kGroupSpans;
constexpr std::uint32_t kBlock = 64;
constexpr std::int64_t kFarthest = std::int64_t{1} << 61;

std::uint32_t ceil_div(std::uint32_t n, std::uint32_t by) { return n / by + (n % by != 0); }

void check(const RowSpan& span, std::int64_t before, std::size_t row, std::size_t index) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Error::Kind::InvalidInput, why,
                {"row " + std::to_string(row) + ", span " + std::to_string(index)});
  };
  if (span.end < span.start) refuse("a span ends before it starts; expected end >= start");
  if (span.start.count() < before)
    refuse("a span starts before the one before it ends; expected spans in order, side by side");
  if (span.start.count() < -kFarthest || span.end.count() > kFarthest)
    refuse("a time is beyond 73 years");
  if (span.category >= kCategorySlots)
    refuse("category " + std::to_string(span.category) + " does not exist; expected 0 to " +
           std::to_string(kCategorySlots - 1));
}

std::int64_t length(const SpanStore& store, std::size_t global) {
  return store.end[global] - store.start[global];
}

// Indices of a group of at most 16 spans: its time by category, its longest, its ends and its
// colour.
void index_group(SpanStore& store, const SpanRow& row, std::uint32_t first, std::uint32_t last,
                 BusyTimes& before) {
  std::uint32_t best = first;
  std::int64_t most = -1;
  BusyTimes busy{};
  for (std::uint32_t i = first; i < last; ++i) {
    const std::int64_t taken = length(store, row.first + i);
    busy[store.category[row.first + i]] += taken;
    if (taken > most) most = taken, best = i;
  }
  for (std::size_t c = 0; c < kCategorySlots; ++c) before[c] += busy[c];
  store.longest.push_back(best);
  store.group_start.push_back(store.start[row.first + first]);
  store.group_end.push_back(store.end[row.first + last - 1]);
  store.group_category.push_back(busiest(busy));
}

// The levels above the first, each from the one below.
void index_upper_levels(SpanStore& store, const SpanRow& row) {
  std::size_t below = row.longest;
  for (std::uint32_t nodes = ceil_div(row.count, kFan); nodes >= kFan;
       nodes = ceil_div(nodes, kFan)) {
    const std::size_t level = store.longest.size();
    for (std::uint32_t n = 0; n < nodes; n += kFan) {
      std::uint32_t best = store.longest[below + n];
      for (std::uint32_t i = n + 1; i < std::min(nodes, n + kFan); ++i) {
        const std::uint32_t other = store.longest[below + i];
        if (length(store, row.first + other) > length(store, row.first + best)) best = other;
      }
      store.longest.push_back(best);
    }
    below = level;
  }
}

void index_row(SpanStore& store, SpanRow& row) {
  row.longest = store.longest.size();
  row.groups = store.group_start.size();
  row.blocks = store.busy_before.size();
  BusyTimes before{};
  for (std::uint32_t first = 0; first < row.count; first += kFan) {
    if (first % kBlock == 0) store.busy_before.push_back(before);
    index_group(store, row, first, std::min(row.count, first + kFan), before);
  }
  store.busy_before.push_back(before);
  index_upper_levels(store, row);
}

void add_scan(const SpanStore& store, const SpanRow& row, std::uint32_t first, std::uint32_t last,
              BusyTimes& busy) {
  for (std::uint32_t i = first; i < last; ++i)
    busy[store.category[row.first + i]] += length(store, row.first + i);
}

// Whole spans [first, last) of the row.
void add_whole(const SpanStore& store, const SpanRow& row, std::uint32_t first, std::uint32_t last,
               BusyTimes& busy) {
  const std::uint32_t low = ceil_div(first, kBlock), high = last / kBlock;
  if (low >= high) return add_scan(store, row, first, last, busy);
  add_scan(store, row, first, low * kBlock, busy);
  add_scan(store, row, high * kBlock, last, busy);
  const BusyTimes& from = store.busy_before[row.blocks + low];
  const BusyTimes& to = store.busy_before[row.blocks + high];
  for (std::size_t c = 0; c < kCategorySlots; ++c) busy[c] += to[c] - from[c];
}

}  // namespace

void add_row(SpanStore& store, const std::vector<RowSpan>& spans, std::uint32_t covered_by) {
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    check(spans[i], before, store.rows.size(), i);
    before = spans[i].end.count();
  }
  store.rows.push_back(
      {store.start.size(), static_cast<std::uint32_t>(spans.size()), covered_by, 0, 0, 0});
  for (const RowSpan& span : spans) {
    store.start.push_back(span.start.count());
    store.end.push_back(span.end.count());
    store.name.push_back(span.name);
    store.category.push_back(span.category);
  }
}

std::uint8_t busiest(const BusyTimes& busy) {
  return static_cast<std::uint8_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

void index_spans(SpanStore& store) {
  std::size_t nodes = 0, blocks = 0, groups = 0;
  for (const SpanRow& row : store.rows) {
    for (std::uint32_t level = ceil_div(row.count, kFan);; level = ceil_div(level, kFan)) {
      nodes += level;
      if (level < kFan) break;
    }
    blocks += ceil_div(row.count, kBlock) + 1;
    groups += ceil_div(row.count, kFan);
  }
  const auto make_room = [](auto& list, std::size_t size) {
    list.clear();
    list.reserve(size);
  };
  make_room(store.longest, nodes);
  make_room(store.busy_before, blocks);
  make_room(store.group_start, groups);
  make_room(store.group_end, groups);
  make_room(store.group_category, groups);
  for (SpanRow& row : store.rows) index_row(store, row);
  // A copy of millions of spans costs more than a few spare ones.
  if (store.start.capacity() - store.start.size() <= store.start.size() / 16) return;
  store.start.shrink_to_fit();
  store.end.shrink_to_fit();
  store.name.shrink_to_fit();
  store.category.shrink_to_fit();
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
  std::uint32_t above_nodes = ceil_div(r.count, kFan);
  const auto look = [&](std::uint32_t n) { consider(level == nullptr ? n : level[n]); };
  while (first < last) {
    while (first < last && first % kFan != 0) look(first++);
    while (first < last && last % kFan != 0) look(--last);
    first /= kFan;
    last /= kFan;
    level = above;
    above += above_nodes;
    above_nodes = ceil_div(above_nodes, kFan);
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
         store.group_start.capacity() * sizeof(std::int64_t) +
         store.group_end.capacity() * sizeof(std::int64_t) + store.group_category.capacity();
}

}  // namespace trainyard
