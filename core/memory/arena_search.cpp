#include "core/memory/arena_search.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr int kDeepest = 3000;  // frames of recursion that any stack can hold
constexpr std::int64_t kHighest = std::int64_t{1} << 48;  // largest slack that scores distinguish
constexpr std::size_t kMostFailed = 1 << 20;              // states remembered, 40 bytes each

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

std::string to_string(const SearchOrder& order) {
  static constexpr std::string_view kSection[] = {"fewest choices", "lowest section",
                                                  "tightest section"};
  static constexpr std::string_view kBuffer[] = {"largest", "widest", "largest area"};
  return std::string(kSection[static_cast<std::size_t>(order.section)]) + ", " +
         std::string(kBuffer[static_cast<std::size_t>(order.buffer)]) + " first";
}

ArenaSearch::ArenaSearch(const ArenaPart& part, std::int64_t capacity)
    : part_(part), capacity_(capacity), line_(part, capacity), changes_(at(part.sections) + 1) {}

SearchEnd ArenaSearch::run(const SearchOrder& order, std::int64_t nodes,
                           const std::stop_token& stop) {
  const Random random(order.seed);
  order_ = order;
  rank_.clear();
  for (const Lifetime& b : part_.buffers) {
    const auto size = static_cast<double>(b.bytes.value);
    const auto width = static_cast<double>(b.to - b.from);
    const double rank = order.buffer == BufferChoice::Largest  ? size
                        : order.buffer == BufferChoice::Widest ? width
                                                               : size * width;
    rank_.push_back(rank * (1 + order.spread * random.uniform(rank_.size())));
  }
  line_.back_to(0);
  last_ = visited_ + nodes;
  depth_ = 0;
  gave_up_ = false;
  stop_ = stop;
  if (fill(0, part_.sections)) return SearchEnd::Found;
  return gave_up_ ? SearchEnd::OutOfNodes : SearchEnd::Impossible;
}

std::vector<std::int64_t> ArenaSearch::offsets() const {
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < static_cast<int>(part_.buffers.size()); ++i)
    offsets.push_back(line_.offset(i));
  return offsets;
}

// Divides open buffers into groups: buffers with no open buffer over the sections between them do
// not affect each other.
std::vector<ArenaSearch::Group> ArenaSearch::groups(const std::vector<int>& open) const {
  std::vector<Group> groups;
  for (const int i : open) {  // sorted by their beginnings
    if (groups.empty() || line_.from(i) >= groups.back().to)
      groups.push_back({line_.from(i), line_.to(i), {}});
    groups.back().to = std::max(groups.back().to, line_.to(i));
    groups.back().open.push_back(i);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.open.size() < b.open.size(); });
  return groups;
}

bool ArenaSearch::fill(int from, int to) {
  if (!line_.infer()) return false;
  std::vector<int> open;
  for (int s = from; s < to; ++s)
    for (const int i : line_.beginning(s))
      if (!line_.placed(i)) open.push_back(i);
  ++depth_;
  bool filled = true;
  for (const Group& group : groups(open)) filled = filled && fill_group(group);
  --depth_;
  return filled;
}

bool ArenaSearch::fill_group(const Group& group) {
  if (visited_ >= last_ || depth_ > kDeepest) {
    gave_up_ = true;
    return false;
  }
  if (++visited_ % 256 == 0 && stop_.stop_requested())
    throw Error(Error::Kind::Cancelled, "the search for a placement was stopped");
  const Key key = key_of(group);
  if (failed_.contains(key)) return false;
  const Branch branch = choose(group);
  const std::int64_t floor = line_.floor(branch.section);
  const std::vector<int> next = candidates(branch);
  const ArenaSkyline::Mark mark = line_.mark();
  for (std::size_t i = 0; i < next.size(); ++i) {
    const bool tried = std::any_of(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](int other) { return same_shape(other, next[i]); });
    if (tried || !rests(next[i], floor) || leaves_usable_hole(next[i], floor, group)) continue;
    line_.place(next[i], floor);
    if (fill(group.from, group.to)) return true;
    line_.back_to(mark);
    if (gave_up_) return false;
  }
  const std::int64_t above = branch.gap ? floor_above_gap(branch, group) : ArenaSkyline::kNever;
  if (above - floor <= line_.slack(branch.section)) {
    line_.raise(branch.section, above);
    if (fill(group.from, group.to)) return true;
    line_.back_to(mark);
    if (gave_up_) return false;
  }
  if (failed_.size() >= kMostFailed) failed_.clear();
  failed_.insert(key);
  return false;
}

ArenaSearch::Branch ArenaSearch::choose(const Group& group) {
  Branch branch;
  std::int64_t best = ArenaSkyline::kNever;
  for (int from = group.from, to = from; from < group.to; from = to) {
    for (to = from + 1; to < group.to && line_.floor(to) == line_.floor(from);) ++to;
    const bool left = from == group.from || line_.floor(from - 1) > line_.floor(from);
    const bool right = to == group.to || line_.floor(to) > line_.floor(from);
    if (left && right) choose_in(group, {from, to}, branch, best);
  }
  return branch;
}

// What lies lowest over a section of a valley is either a buffer that lies wholly in the valley, or
// a gap.
void ArenaSearch::choose_in(const Group& group, Valley valley, Branch& branch, std::int64_t& best) {
  const std::int64_t floor = line_.floor(valley.from);
  std::fill(changes_.begin() + valley.from, changes_.begin() + valley.to + 1, 0);
  for (const int i : group.open)
    if (line_.from(i) >= valley.from && line_.to(i) <= valley.to && line_.least(i) == floor) {
      ++changes_[at(line_.from(i))];
      --changes_[at(line_.to(i))];
    }
  constexpr std::int64_t kMany = 4096;  // more than any number of choices
  std::int64_t choices = 0;
  for (int s = valley.from; s < valley.to; ++s) {
    choices += changes_[at(s)];
    const bool gap = line_.slack(s) > 0;
    const std::int64_t all = std::min(choices + (gap ? 1 : 0), kMany - 1);
    std::int64_t score = all;
    if (order_.section == SectionChoice::Lowest) score = std::min(floor, kHighest) * kMany + all;
    if (order_.section == SectionChoice::Tightest)
      score = std::min(line_.slack(s), kHighest) * kMany + all;
    if (all <= 1) score = -1;  // there is nothing to choose
    if (score < best || (score == best && order_.latest)) {
      best = score;
      branch = {valley, s, gap};
    }
  }
}

std::vector<int> ArenaSearch::candidates(const Branch& branch) const {
  std::vector<int> result;
  for (const int i : line_.over(branch.section))
    if (!line_.placed(i) && line_.from(i) >= branch.valley.from &&
        line_.to(i) <= branch.valley.to && line_.least(i) == line_.floor(branch.section))
      result.push_back(i);
  std::sort(result.begin(), result.end(), [&](int a, int b) {
    return rank_[at(a)] != rank_[at(b)] ? rank_[at(a)] > rank_[at(b)] : a < b;
  });
  return result;
}

// If a gap stays, the lowest buffer over the section does not rest on the valley's floor, but on a
// wall beside the valley or on another open buffer that does not cover the section.
std::int64_t ArenaSearch::floor_above_gap(const Branch& branch, const Group& group) const {
  const int section = branch.section;
  std::int64_t above = ArenaSkyline::kNever;
  int from = section, to = section + 1;  // range of the sections whose buffers would lie on the
                                         // floor
  for (const int i : line_.over(section)) {
    if (line_.placed(i)) continue;
    if (line_.least(i) > line_.floor(section)) {
      above = std::min(above, line_.least(i));
    } else {
      from = std::min(from, line_.from(i));
      to = std::max(to, line_.to(i));
    }
  }
  for (const int under : group.open) {
    const bool left = line_.to(under) <= section && line_.to(under) > from;
    const bool right = line_.from(under) > section && line_.from(under) < to;
    if (left || right) above = std::min(above, line_.least(under) + line_.size(under));
  }
  return above;
}

bool ArenaSearch::rests(int buffer, std::int64_t offset) const {
  if (offset == 0) return true;
  for (int s = line_.from(buffer); s < line_.to(buffer); ++s)
    if (line_.top(s) == offset) return true;
  return false;
}

// Returns whether placing the buffer closes a hole that could hold an open buffer; that buffer
// would lie better in the hole.
bool ArenaSearch::leaves_usable_hole(int buffer, std::int64_t offset, const Group& group) const {
  const int end = line_.to(buffer);
  for (int from = line_.from(buffer), to = from; from < end; from = to + 1) {
    for (to = from; to < end && line_.top(to) < offset;) ++to;
    if (to == from) continue;
    for (const int i : group.open) {
      if (i == buffer || line_.from(i) < from || line_.to(i) > to) continue;
      std::int64_t top = 0;
      for (int s = line_.from(i); s < line_.to(i); ++s) top = std::max(top, line_.top(s));
      if (top + line_.size(i) <= offset) return true;
    }
  }
  return false;
}

bool ArenaSearch::same_shape(int a, int b) const {
  return line_.from(a) == line_.from(b) && line_.to(a) == line_.to(b) &&
         line_.size(a) == line_.size(b);
}

// The key covers everything on which the rest of the search in a group depends. It has 128 bits, so
// equal keys of different states are less likely than a hardware error.
ArenaSearch::Key ArenaSearch::key_of(const Group& group) const {
  static constexpr Random kFloors(1), kTops(2), kOpen(3);
  Key key;
  const auto mix = [&key](const Random& random, int index, std::int64_t value) {
    const std::uint64_t bits = random.bits(random.bits(static_cast<std::uint64_t>(index)) +
                                           static_cast<std::uint64_t>(value));
    key.a += bits;
    key.b += random.bits(bits);
  };
  for (int s = group.from; s < group.to; ++s) {
    mix(kFloors, s, line_.floor(s));
    mix(kTops, s, line_.top(s));
  }
  for (const int i : group.open) mix(kOpen, i, 0);
  return key;
}

}  // namespace trainyard
