#include "visualizers/viewmodel/statistics.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <utility>

#include "visualizers/viewmodel/cover.h"
#include "visualizers/viewmodel/length_histogram.h"

namespace trainyard {
namespace {

using Count = std::int64_t;

// Lengths are counted in buckets 1/128 of themselves wide, few enough to count in; a rank is then
// found among the lengths of one bucket.
constexpr int kBits = 7;
constexpr std::uint32_t kBetweenStops = 1 << 16;  // spans; about a millisecond

template <int bits>
struct Group {
  NameStatistics facts;
  LengthHistogram<bits> histogram;
  LengthRank median, p95;
  std::vector<Count> about_median, about_p95;  // the lengths in those buckets

  void add(Count length, Count self) {
    add_all(1, Duration{length}, Duration{self}, Duration{length}, Duration{length});
    histogram.add(length);
  }
  void add(const Group& other) {
    add_all(other.facts.count, other.facts.sum, other.facts.self, other.facts.shortest,
            other.facts.longest);
    histogram.add(other.histogram);
  }
  void add(const NameSum& sum, const LengthCount* counts) {
    add_all(sum.count, Duration{sum.sum}, Duration{sum.self}, Duration{sum.shortest},
            Duration{sum.longest});
    for (const LengthCount* c = counts; c != counts + sum.counts; ++c)
      histogram.add_bucket(c->bucket, c->count);
  }
  void seek() {
    median = histogram.find((facts.count * 50 + 99) / 100 - 1);
    p95 = histogram.find((facts.count * 95 + 99) / 100 - 1);
  }

 private:
  void add_all(std::uint64_t count, Duration sum, Duration self, Duration shortest,
               Duration longest) {
    facts.shortest = facts.count == 0 ? shortest : std::min(facts.shortest, shortest);
    facts.longest = std::max(facts.longest, longest);
    facts.count += count;
    facts.sum += sum;
    facts.self += self;
  }
};

// Groups by (name, category), found by index for the small names that Names hands out and by search
// for others.
template <int bits>
class Groups {
 public:
  Groups() = default;
  Groups(const Groups&) = delete;
  Groups(Groups&&) = default;

  Group<bits>& at(std::uint32_t name, std::uint8_t category) {
    const std::uint64_t key = std::uint64_t{name} * kCategorySlots + category;
    if (key >= kSmall) return group(key, name, category);
    if (key >= small_.size()) small_.resize(2 * key + 1, nullptr);
    if (small_[key] == nullptr) small_[key] = &group(key, name, category);
    return *small_[key];
  }
  std::map<std::uint64_t, Group<bits>>& all() { return groups_; }

 private:
  static constexpr std::uint64_t kSmall = 1 << 20;

  Group<bits>& group(std::uint64_t key, std::uint32_t name, std::uint8_t category) {
    Group<bits>& found = groups_[key];
    found.facts.name = name;
    found.facts.category = category;
    return found;
  }

  std::map<std::uint64_t, Group<bits>> groups_;
  std::vector<Group<bits>*> small_;
};

// Calls with(place in the arrays, length within the range) for spans [first, last) of the row.
template <class With>
void each_length(const SpanStore& store, std::uint32_t row, SpanWindow spans, Instant from,
                 Instant to, const With& with) {
  const std::size_t first = store.rows[row].first;
  for (std::size_t i = first + spans.first; i < first + spans.last; ++i)
    with(i, std::min(store.end[i], to.count()) - std::max(store.start[i], from.count()));
}

// A part of the groups for each thread, and their sum; whole numbers add up to the same in any
// order.
template <int bits>
using GroupsOfThreads = tbb::enumerable_thread_specific<Groups<bits>>;

// Spans [first, last) of the row, one by one.
template <int bits>
void add_spans(const SpanStore& store, std::uint32_t row, SpanWindow spans, Instant from,
               Instant to, Groups<bits>& groups) {
  if (spans.empty()) return;
  const std::uint32_t covered_by = store.rows[row].covered_by;
  const Instant begin = std::max(from, span_at(store, row, spans.first).start);
  Cover cover(store, covered_by, begin, to);
  each_length(store, row, spans, from, to, [&](std::size_t i, Count length) {
    const Count start = std::max(store.start[i], from.count());
    const Count hidden = covered_by == kNoRow ? 0 : cover.busy(start, start + length);
    groups.at(store.name[i], store.category[i]).add(length, length - hidden);
  });
}

// Calls with(row, groups of the thread) for each of the rows, and adds the groups up.
template <int bits, class With>
void add_rows(const std::vector<std::uint32_t>& rows, Groups<bits>& whole, const With& with) {
  GroupsOfThreads<bits> parts;
  tbb::parallel_for(std::size_t{0}, rows.size(),
                    [&](std::size_t r) { with(rows[r], parts.local()); });
  for (Groups<bits>& part : parts)
    for (auto& [key, group] : part.all())
      whole.at(group.facts.name, group.facts.category).add(group);
}

// Blocks of the row that lie wholly in the range, as they were summed, and the rest one by one.
void add_blocks(const SpanStore& store, const NameSums& sums, std::uint32_t row, Instant from,
                Instant to, Groups<kSummedBits>& groups) {
  const SpanWindow seen = window(store, row, from, to);
  if (seen.empty()) return;
  const auto add_one_by_one = [&](std::uint32_t first, std::uint32_t last) {
    add_spans(store, row, {first, last}, from, to, groups);
  };
  const std::uint32_t count = store.rows[row].count;
  // A span that the range cuts is none of a block's.
  const std::uint32_t low = seen.first + (span_at(store, row, seen.first).start < from ? 1 : 0);
  const std::uint32_t high = seen.last - (span_at(store, row, seen.last - 1).end > to ? 1 : 0);
  const std::uint32_t begin = (low + kSummedSpans - 1) / kSummedSpans;
  const std::uint32_t end =
      high == count ? (count + kSummedSpans - 1) / kSummedSpans : high / kSummedSpans;
  if (begin >= end) return add_one_by_one(seen.first, seen.last);
  add_one_by_one(seen.first, begin * kSummedSpans);
  const NameSums::Row& of = sums.rows[row];
  for (std::uint32_t b = begin; b < end; ++b) {
    if (of.blocks[b] == of.blocks[b + 1])
      add_one_by_one(b * kSummedSpans, std::min(count, (b + 1) * kSummedSpans));
    for (std::uint32_t i = of.blocks[b]; i < of.blocks[b + 1]; ++i)
      groups.at(of.sums[i].name, of.sums[i].category)
          .add(of.sums[i], of.counts.data() + of.sums[i].first_count);
  }
  add_one_by_one(std::min(count, end * kSummedSpans), seen.last);
}

// The lengths in the buckets that hold the ranks.
void gather(const SpanStore& store, const std::vector<std::uint32_t>& rows, Instant from,
            Instant to, Groups<kBits>& whole) {
  GroupsOfThreads<kBits> parts([&] {
    Groups<kBits> part;
    for (const auto& [key, group] : whole.all()) {
      Group<kBits>& mine = part.at(group.facts.name, group.facts.category);
      mine.median = group.median;
      mine.p95 = group.p95;
    }
    return part;
  });
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t r) {
    Groups<kBits>& groups = parts.local();
    const SpanWindow seen = window(store, rows[r], from, to);
    each_length(store, rows[r], seen, from, to, [&](std::size_t i, Count length) {
      const std::size_t bucket = bucket_of<kBits>(length);
      Group<kBits>& group = groups.at(store.name[i], store.category[i]);
      if (bucket == group.median.bucket) group.about_median.push_back(length);
      if (bucket == group.p95.bucket) group.about_p95.push_back(length);
    });
  });
  for (Groups<kBits>& part : parts)
    for (auto& [key, group] : part.all()) {
      Group<kBits>& sum = whole.at(group.facts.name, group.facts.category);
      const auto append = [](std::vector<Count>& to_all, const std::vector<Count>& some) {
        to_all.insert(to_all.end(), some.begin(), some.end());
      };
      append(sum.about_median, group.about_median);
      append(sum.about_p95, group.about_p95);
    }
}

Duration ranked(const LengthRank& rank, std::vector<Count>& lengths) {
  if (rank.bucket < kExactBuckets<kBits>) return Duration{static_cast<Count>(rank.bucket)};
  const auto place = lengths.begin() + static_cast<std::ptrdiff_t>(rank.within);
  std::nth_element(lengths.begin(), place, lengths.end());
  return Duration{*place};
}

// By sum. The groups come by name and category already; a stable sort keeps that among equals.
std::vector<NameStatistics> by_sum(std::vector<NameStatistics> all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const NameStatistics& a, const NameStatistics& b) { return a.sum > b.sum; });
  return all;
}

}  // namespace

std::vector<NameStatistics> range_statistics(const SpanStore& store,
                                             const std::vector<std::uint32_t>& rows, Instant from,
                                             Instant to, const std::stop_token& stop) {
  Groups<kBits> groups;
  add_rows(rows, groups, [&](std::uint32_t row, Groups<kBits>& part) {
    const SpanWindow seen = window(store, row, from, to);
    for (std::uint32_t i = seen.first; i < seen.last && !stop.stop_requested();) {
      const std::uint32_t next = i + std::min(seen.last - i, kBetweenStops);
      add_spans(store, row, {i, next}, from, to, part);
      i = next;
    }
  });
  if (stop.stop_requested()) return {};
  bool exact = true;
  for (auto& [key, group] : groups.all()) {
    group.seek();
    exact = exact && std::max(group.median.bucket, group.p95.bucket) < kExactBuckets<kBits>;
  }
  if (!exact) gather(store, rows, from, to, groups);
  std::vector<NameStatistics> all;
  for (auto& [key, group] : groups.all()) {
    NameStatistics facts = group.facts;
    facts.median = ranked(group.median, group.about_median);
    facts.p95 = ranked(group.p95, group.about_p95);
    all.push_back(facts);
  }
  return by_sum(std::move(all));
}

std::vector<NameStatistics> quick_statistics(const SpanStore& store, const NameSums& sums,
                                             const std::vector<std::uint32_t>& rows, Instant from,
                                             Instant to) {
  Groups<kSummedBits> groups;
  add_rows(rows, groups, [&](std::uint32_t row, Groups<kSummedBits>& part) {
    add_blocks(store, sums, row, from, to, part);
  });
  std::vector<NameStatistics> all;
  for (auto& [key, group] : groups.all()) {
    group.seek();
    NameStatistics facts = group.facts;
    const auto about = [&](const LengthRank& rank) {
      return std::clamp(Duration{middle_of<kSummedBits>(rank.bucket)}, facts.shortest,
                        facts.longest);
    };
    facts.median = about(group.median);
    facts.p95 = about(group.p95);
    all.push_back(facts);
  }
  return by_sum(std::move(all));
}

double share_of_range(Duration sum, Instant from, Instant to, std::size_t rows) {
  const double whole = static_cast<double>((to - from).count()) * static_cast<double>(rows);
  return to <= from || rows == 0 ? 0.0 : static_cast<double>(sum.count()) / whole;
}

}  // namespace trainyard
