#include "visualizers/viewmodel/statistics.h"

#include <algorithm>
#include <map>

namespace trainyard {
namespace {

using Count = std::int64_t;

struct Group {
  NameStatistics facts;
  std::vector<Count> lengths;
};

// Groups by (name, category), found by index for the small names that Names hands out and by search
// for others.
class Groups {
 public:
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

void add_row_statistics(const SpanStore& store, std::uint32_t row, Instant from, Instant to,
                        Groups& groups) {
  const SpanRow& r = store.rows[row];
  const SpanWindow seen = window(store, row, from, to);
  Cover cover(store, r.covered_by, from, to);
  for (std::size_t i = r.first + seen.first; i < r.first + seen.last; ++i) {
    const Count start = std::max(store.start[i], from.count()),
                end = std::min(store.end[i], to.count());
    Group& group = groups.at(store.name[i], store.category[i]);
    group.lengths.push_back(end - start);
    group.facts.sum += Duration{end - start};
    group.facts.self +=
        Duration{end - start - (r.covered_by == kNoRow ? 0 : cover.busy(start, end))};
  }
}

// The value of the nearest rank among [0, end), which ends partitioned about it; returns its place.
std::size_t select(std::vector<Count>& lengths, std::size_t end, std::uint64_t percent) {
  const std::size_t at = (lengths.size() * percent + 99) / 100 - 1;
  const auto place = lengths.begin() + static_cast<std::ptrdiff_t>(at);
  if (at < end)
    std::nth_element(lengths.begin(), place, lengths.begin() + static_cast<std::ptrdiff_t>(end));
  return at;
}

NameStatistics finished(Group& group) {
  NameStatistics facts = group.facts;
  facts.count = group.lengths.size();
  const auto [low, high] = std::minmax_element(group.lengths.begin(), group.lengths.end());
  facts.shortest = Duration{*low};
  facts.longest = Duration{*high};
  const std::size_t p95 = select(group.lengths, group.lengths.size(), 95);
  const std::size_t median = select(group.lengths, p95, 50);
  facts.p95 = Duration{group.lengths[p95]};
  facts.median = Duration{group.lengths[median]};
  return facts;
}

}  // namespace

std::vector<NameStatistics> range_statistics(const SpanStore& store,
                                             const std::vector<std::uint32_t>& rows, Instant from,
                                             Instant to) {
  Groups groups;
  for (const std::uint32_t row : rows) add_row_statistics(store, row, from, to, groups);
  std::vector<NameStatistics> all;
  for (auto& [key, group] : groups.all()) all.push_back(finished(group));
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
