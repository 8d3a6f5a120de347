#include "planners/branches/operator_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "planners/index.h"

namespace trainyard {
namespace {

using OperatorSet = std::uint64_t;  // by place in the block
constexpr OperatorSet one(int place) { return OperatorSet{1} << place; }
int last_of(OperatorSet set) { return 63 - std::countl_zero(set); }

void push_stage(OperatorSchedule& schedule, OperatorGroups groups, StagePrice price) {
  schedule.time += price.time;
  schedule.stages.push_back({std::move(groups), std::move(price)});
}

// BlockSearch finds the quickest stages of the operators [from, from + size).
class BlockSearch {
 public:
  BlockSearch(const OperatorGraph& graph, int from, int size, const PriceStage& price,
              const StageLimits& limits, const std::stop_token& stop)
      : from_(from), limits_(limits), price_(price), stop_(stop) {
    before_.resize(at(size)), beside_.resize(at(size));
    for (int i = 0; i < size; ++i)
      for (const int earlier : graph.operators[at(from + i)].after) {
        if (earlier < from) continue;
        before_[at(i)] |= one(earlier - from) | before_[at(earlier - from)];
        beside_[at(i)] |= one(earlier - from);
        beside_[at(earlier - from)] |= one(i);
      }
    all_ = size == 64 ? ~OperatorSet{0} : one(size) - 1;
  }

  /// Returns false where more endings were tried than the limit.
  bool run() {
    costs_[0] = {};
    cost(all_);
    return endings_ <= limits_.endings;
  }

  void append_to(BestStages& best) const {
    std::vector<OperatorSet> endings;
    for (OperatorSet left = all_; left != 0; left &= ~endings.back())
      endings.push_back(costs_.at(left).ending);
    for (std::size_t i = endings.size(); i-- > 0;)
      push_stage(best.schedule, groups_of(endings[i]), prices_.at(endings[i]));
    best.states += static_cast<std::int64_t>(costs_.size());
    best.endings += endings_;
    best.priced += static_cast<std::int64_t>(prices_.size());
    ++best.blocks;
  }

 private:
  struct Cost {
    Duration time{};
    OperatorSet ending = 0;
  };

  Duration cost(OperatorSet left) {
    if (const auto known = costs_.find(left); known != costs_.end()) return known->second.time;
    Cost best{Duration::max(), 0};
    try_endings(left, left, 0, groups_.size(), best);
    costs_.emplace(left, best);
    return best.time;
  }

  // Goes from the last operator to the first: each is of the ending, or neither it nor anything
  // that it waits for is. `open` are those that are not decided; the groups of the ending are those
  // from `first` on.
  void try_endings(OperatorSet left, OperatorSet open, OperatorSet ending, std::size_t first,
                   Cost& best) {
    if (endings_ > limits_.endings) return;
    if (open == 0) {
      if (ending != 0 && groups_.size() - first <= at(limits_.groups))
        try_ending(left, ending, best);
      return;
    }
    const int next = last_of(open);
    const std::size_t end = groups_.size();
    OperatorSet own = one(next);
    for (std::size_t i = first; i < end; ++i)
      if (const OperatorSet group = groups_[i]; (group & beside_[at(next)]) != 0)
        own |= group;
      else
        groups_.push_back(group);
    groups_.push_back(own);
    if (std::popcount(own) <= limits_.group_size)
      try_endings(left, open & ~one(next), ending | one(next), end, best);
    groups_.resize(end);
    try_endings(left, open & ~one(next) & ~before_[at(next)], ending, first, best);
  }

  void try_ending(OperatorSet left, OperatorSet ending, Cost& best) {
    if (stop_.stop_requested())
      throw Error(Error::Kind::Cancelled, "stopped before the stages were found");
    ++endings_;
    const Duration before = cost(left & ~ending);
    if (before == Duration::max()) return;  // the limit came first
    const auto [price, is_new] = prices_.try_emplace(ending);
    if (is_new) price->second = price_(groups_of(ending));
    const Duration time = before + price->second.time;
    if (time < best.time) best = {time, ending};
  }

  OperatorGroups groups_of(OperatorSet ending) const {
    OperatorGroups groups;
    while (ending != 0) {
      OperatorSet group = ending & -ending, grown = group;
      do {
        group = grown;
        for (OperatorSet rest = group; rest != 0; rest &= rest - 1)
          grown |= beside_[at(std::countr_zero(rest))] & ending;
      } while (grown != group);
      groups.emplace_back();
      for (OperatorSet rest = group; rest != 0; rest &= rest - 1)
        groups.back().push_back(from_ + std::countr_zero(rest));
      ending &= ~group;
    }
    return groups;
  }

  const int from_;
  const StageLimits& limits_;
  const PriceStage& price_;
  const std::stop_token& stop_;
  OperatorSet all_ = 0;
  std::vector<OperatorSet> before_;  // everything that it waits for, however indirectly
  std::vector<OperatorSet> beside_;  // what it waits for itself, and what waits for it
  std::vector<OperatorSet> groups_;  // of all endings that are being decided, one behind the other
  std::unordered_map<OperatorSet, Cost> costs_;
  std::unordered_map<OperatorSet, StagePrice> prices_;
  std::int64_t endings_ = 0;
};

// A block begins at an operator to which everything before it leads (all of that is waited for, by
// it or before it) and for which everything behind it waits (nothing there waits for nothing), and
// not among operators that may run as one.
std::vector<int> block_starts(const OperatorGraph& graph) {
  const int size = static_cast<int>(graph.operators.size());
  std::vector<int> farthest(at(size), -1);  // operator that waits for it
  int last_free = 0;                        // that waits for nothing
  const auto parts_a_merge = [&](int start) {
    return std::any_of(graph.merges.begin(), graph.merges.end(), [&](const OperatorMerge& merge) {
      return merge.operators.front() < start && start <= merge.operators.back();
    });
  };
  for (int i = 0; i < size; ++i) {
    for (const int before : graph.operators[at(i)].after) farthest[at(before)] = i;
    if (graph.operators[at(i)].after.empty()) last_free = i;
  }
  std::vector<int> starts = {0};
  int reached = 0;
  bool waited_for = true;
  for (int i = 1; i < size; ++i) {
    waited_for = waited_for && farthest[at(i - 1)] >= 0;
    reached = std::max(reached, farthest[at(i - 1)]);
    if (waited_for && reached == i && last_free < i && !parts_a_merge(i)) starts.push_back(i);
  }
  return starts;
}

void search(const OperatorGraph& graph, int from, int size, const PriceStage& price,
            StageLimits& limits, const std::stop_token& stop, BestStages& best) {
  if (size <= limits.block) {
    BlockSearch block(graph, from, size, price, limits, stop);
    if (block.run() || size == 1) return block.append_to(best);
    limits.block = size - 1;
  }
  best.exact = false;
  search(graph, from, size / 2, price, limits, stop, best);
  search(graph, from + size / 2, size - size / 2, price, limits, stop, best);
}

void expect_limit(const char* name, std::int64_t value, std::int64_t high) {
  if (value < 1 || value > high)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected {} in [1, {}], found {}", name, high, value));
}

}  // namespace

OperatorSchedule sequential_stages(const OperatorGraph& graph, const PriceStage& price) {
  check_operators(graph);
  OperatorSchedule schedule;
  for (int i = 0; at(i) < graph.operators.size(); ++i) push_stage(schedule, {{i}}, price({{i}}));
  return schedule;
}

OperatorSchedule greedy_stages(const OperatorGraph& graph, const PriceStage& price) {
  check_operators(graph);
  std::vector<OperatorGroups> stages;
  std::vector<std::size_t> stage_of;
  for (const Operator& one : graph.operators) {
    std::size_t stage = 0;
    for (const int before : one.after) stage = std::max(stage, stage_of[at(before)] + 1);
    if (stage == stages.size()) stages.emplace_back();
    stages[stage].push_back({static_cast<int>(stage_of.size())});
    stage_of.push_back(stage);
  }
  OperatorSchedule schedule;
  for (OperatorGroups& groups : stages) {
    StagePrice priced = price(groups);
    push_stage(schedule, std::move(groups), std::move(priced));
  }
  return schedule;
}

BestStages best_stages(const OperatorGraph& graph, const PriceStage& price,
                       const StageLimits& limits, const std::stop_token& stop) {
  check_operators(graph);
  expect_limit("operators of a group", limits.group_size, 64);
  expect_limit("groups of a stage", limits.groups, 64);
  expect_limit("operators of a block", limits.block, 64);
  expect_limit("endings of a block", limits.endings, std::int64_t{1} << 40);
  BestStages best;
  StageLimits left = limits;
  std::vector<int> starts = block_starts(graph);
  starts.push_back(static_cast<int>(graph.operators.size()));
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    search(graph, starts[i], starts[i + 1] - starts[i], price, left, stop, best);
  OperatorSchedule greedy = greedy_stages(graph, price);
  best.greedy = greedy.time < best.schedule.time;
  if (best.greedy) best.schedule = std::move(greedy);
  return best;
}

}  // namespace trainyard
