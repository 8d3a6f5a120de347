#include "visualizers/viewmodel/statistics.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <map>

namespace trainyard {
namespace {

using Count = std::int64_t;

// Lengths fall into buckets 1/128 of themselves wide, one each below 256 ns: few enough to count
// in, and a rank is then found among the lengths of one bucket.
std::size_t bucket_of(Count length) {
  const auto bits = static_cast<std::uint64_t>(length);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - 8);
  return 128 * static_cast<std::size_t>(shift) + static_cast<std::size_t>(bits >> shift);
}
constexpr std::size_t kExactBuckets = 256;

// A rank counted from the smallest length of the bucket that holds it.
struct Rank {
  std::size_t bucket = 0;
  std::uint64_t within = 0;
};

class Histogram {
 public:
  void add(Count length) {
    const std::size_t bucket = bucket_of(length);
    if (bucket >= counts_.size()) counts_.resize(bucket + 1);
    ++counts_[bucket];
  }
  void add(const Histogram& other) {
    counts_.resize(std::max(counts_.size(), other.counts_.size()));
    for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  Rank find(std::uint64_t rank) const {
    std::size_t bucket = 0;
    while (rank >= counts_[bucket]) rank -= counts_[bucket++];
    return {bucket, rank};
  }

 private:
  std::vector<std::uint32_t> counts_;
};

struct Group {
  NameStatistics facts;
  Histogram histogram;
  Rank median, p95;
  std::vector<Count> about_median, about_p95;  // the lengths in those buckets

  void add(Count length, Count self) {
    facts.shortest =
        facts.count == 0 ? Duration{length} : std::min(facts.shortest, Duration{length});
    facts.longest = std::max(facts.longest, Duration{length});
    ++facts.count;
    facts.sum += Duration{length};
    facts.self += Duration{self};
    histogram.add(length);
  }
  void add(const Group& other) {
    facts.shortest =
        facts.count == 0 ? other.facts.shortest : std::min(facts.shortest, other.facts.shortest);
    facts.longest = std::max(facts.longest, other.facts.longest);
    facts.count += other.facts.count;
    facts.sum += other.facts.sum;
    facts.self += other.facts.self;
    histogram.add(other.histogram);
  }
  void seek() {
    median = histogram.find((facts.count * 50 + 99) / 100 - 1);
    p95 = histogram.find((facts.count * 95 + 99) / 100 - 1);
  }
};

// Groups by (name, category), found by index for the small names that Names hands out and by search
// for others.
class Groups {
 public:
  Groups() = default;
  Groups(const Groups&) = delete;
  Groups(Groups&&) = default;

  Group& at(std::uint32_t name, std::uint8_t category) {
    const std::uint64_t key = std::uint64_t{name} * kCategorySlots + category;
    if (key >= kSmall) return group(key, name, category);
    if (key >= small_.size()) small_.resize(2 * key + 1, nullptr);
    if (small_[key] == nullptr) small_[key] = &group(key, name, category);
    return *small_[key];
  }
  std::map<std::uint64_t, Group>& all() { return groups_; }

 private:
  static constexpr std::uint64_t kSmall = 1 << 20;

  Group& group(std::uint64_t key, std::uint32_t name, std::uint8_t category) {
    Group& found = groups_[key];
    found.facts.name = name;
    found.facts.category = category;
    return found;
  }

  std::map<std::uint64_t, Group> groups_;
  std::vector<Group*> small_;
};

// Answers "how much of [from, to) is the row busy" for questions in ascending order, walking the
// row once.
class Cover {
 public:
  Cover(const SpanStore& store, std::uint32_t row, Instant from, Instant to) : store_(store) {
    if (row == kNoRow) return;
    const SpanWindow seen = window(store, row, from, to);
    at_ = store.rows[row].first + seen.first;
    end_ = store.rows[row].first + seen.last;
  }

  Count busy(Count from, Count to) {
    while (at_ < end_ && store_.end[at_] <= from) ++at_;
    Count sum = 0;
    for (std::size_t i = at_; i < end_ && store_.start[i] < to; ++i)
      sum += std::min(to, store_.end[i]) - std::max(from, store_.start[i]);
    return sum;
  }

 private:
  const SpanStore& store_;
  std::size_t at_ = 0, end_ = 0;
};

// Calls with(place in the arrays, length within the range) for each span of the row.
template <class With>
void each_length(const SpanStore& store, std::uint32_t row, Instant from, Instant to,
                 const With& with) {
  const SpanRow& r = store.rows[row];
  const SpanWindow seen = window(store, row, from, to);
  for (std::size_t i = r.first + seen.first; i < r.first + seen.last; ++i)
    with(i, std::min(store.end[i], to.count()) - std::max(store.start[i], from.count()));
}

// A part of the groups for each thread, and their sum; whole numbers add up to the same in any
// order.
using GroupsOfThreads = tbb::enumerable_thread_specific<Groups>;

void add_up(const SpanStore& store, const std::vector<std::uint32_t>& rows, Instant from,
            Instant to, Groups& whole) {
  GroupsOfThreads parts;
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t r) {
    Groups& groups = parts.local();
    const std::uint32_t covered_by = store.rows[rows[r]].covered_by;
    Cover cover(store, covered_by, from, to);
    each_length(store, rows[r], from, to, [&](std::size_t i, Count length) {
      const Count start = std::max(store.start[i], from.count());
      const Count hidden = covered_by == kNoRow ? 0 : cover.busy(start, start + length);
      groups.at(store.name[i], store.category[i]).add(length, length - hidden);
    });
  });
  for (Groups& part : parts)
    for (auto& [key, group] : part.all())
      whole.at(group.facts.name, group.facts.category).add(group);
}

// The lengths in the buckets that hold the ranks.
void gather(const SpanStore& store, const std::vector<std::uint32_t>& rows, Instant from,
            Instant to, Groups& whole) {
  GroupsOfThreads parts([&] {
    Groups part;
    for (const auto& [key, group] : whole.all()) {
      Group& mine = part.at(group.facts.name, group.facts.category);
      mine.median = group.median;
      mine.p95 = group.p95;
    }
    return part;
  });
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t r) {
    Groups& groups = parts.local();
    each_length(store, rows[r], from, to, [&](std::size_t i, Count length) {
      const std::size_t bucket = bucket_of(length);
      Group& group = groups.at(store.name[i], store.category[i]);
      if (bucket == group.median.bucket) group.about_median.push_back(length);
      if (bucket == group.p95.bucket) group.about_p95.push_back(length);
    });
  });
  for (Groups& part : parts)
    for (auto& [key, group] : part.all()) {
      Group& sum = whole.at(group.facts.name, group.facts.category);
      const auto append = [](std::vector<Count>& to_all, const std::vector<Count>& some) {
        to_all.insert(to_all.end(), some.begin(), some.end());
      };
      append(sum.about_median, group.about_median);
      append(sum.about_p95, group.about_p95);
    }
}

Duration ranked(const Rank& rank, std::vector<Count>& lengths) {
  if (rank.bucket < kExactBuckets) return Duration{static_cast<Count>(rank.bucket)};
  const auto place = lengths.begin() + static_cast<std::ptrdiff_t>(rank.within);
  std::nth_element(lengths.begin(), place, lengths.end());
  return Duration{*place};
}

}  // namespace

std::vector<NameStatistics> range_statistics(const SpanStore& store,
                                             const std::vector<std::uint32_t>& rows, Instant from,
                                             Instant to) {
  Groups groups;
  add_up(store, rows, from, to, groups);
  bool exact = true;
  for (auto& [key, group] : groups.all()) {
    group.seek();
    exact = exact && std::max(group.median.bucket, group.p95.bucket) < kExactBuckets;
  }
  if (!exact) gather(store, rows, from, to, groups);
  std::vector<NameStatistics> all;
  for (auto& [key, group] : groups.all()) {
    NameStatistics facts = group.facts;
    facts.median = ranked(group.median, group.about_median);
    facts.p95 = ranked(group.p95, group.about_p95);
    all.push_back(facts);
  }
  // The map is by name and category already; a stable sort keeps that among equals.
  std::stable_sort(all.begin(), all.end(),
                   [](const NameStatistics& a, const NameStatistics& b) { return a.sum > b.sum; });
  return all;
}

double share_of_range(Duration sum, Instant from, Instant to, std::size_t rows) {
  const double whole = static_cast<double>((to - from).count()) * static_cast<double>(rows);
  return to <= from || rows == 0 ? 0.0 : static_cast<double>(sum.count()) / whole;
}

}  // namespace trainyard
