#include "planners/branches/merged_stage.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"

namespace trainyard {
namespace {

// Operators that wait for earlier ones with a chance of one in three, times of them and of every
// choice of two or three of a kind that nothing parts.
struct MergingStage {
  OperatorGraph graph;
  std::vector<OperatorTime> times;
  CoreSharing sharing;

  explicit MergingStage(int size, std::uint64_t seed) : random(seed, 7) {
    std::vector<std::vector<bool>> reaches;  // by operator: all that it waits for
    for (int i = 0; i < size; ++i) {
      graph.operators.push_back({"op", {}});
      reaches.emplace_back(static_cast<std::size_t>(size));
      for (int before = 0; before < i; ++before)
        if (draw(0, 2) == 0) {
          graph.operators.back().after.push_back(before);
          std::vector<bool>& own = reaches.back();
          own[static_cast<std::size_t>(before)] = true;
          for (std::size_t j = 0; j < own.size(); ++j)
            own[j] = own[j] || reaches[static_cast<std::size_t>(before)][j];
        }
      add_time(1000);
    }
    const auto waits = [&](int later, int earlier) {
      return reaches[static_cast<std::size_t>(later)][static_cast<std::size_t>(earlier)];
    };
    for (int a = 0; a < size; ++a)
      for (int b = a + 1; b < size; ++b) {
        if (a % 2 != b % 2) continue;
        bool parted = false;
        for (int between = a + 1; between < b; ++between)
          parted = parted || (waits(b, between) && waits(between, a));
        if (!parted) graph.merges.push_back({"merge", {a, b}});
      }
    for (std::size_t i = 0; i < graph.merges.size(); ++i) add_time(1500);
    sharing = {static_cast<int>(draw(1, 4)), Duration{draw(0, 200)}};
  }
  PriceStage price() const {
    return [this](const OperatorGroups& groups) {
      return merged_stage(graph, groups, times, sharing);
    };
  }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return random.between(next++, low, high);
  }
  void add_time(std::int64_t most) {
    const std::int64_t alone = draw(1, most);
    times.push_back({Duration{alone}, Duration{alone + draw(0, alone)}});
  }

  Random random;
  std::uint64_t next = 0;
};

// Operators of the graph that an operator or a merge runs.
std::vector<int> operators_of(const OperatorGraph& graph, int unit) {
  const int size = static_cast<int>(graph.operators.size());
  return unit < size ? std::vector<int>{unit}
                     : graph.merges[static_cast<std::size_t>(unit - size)].operators;
}

// Every operator runs once, behind all that it waits for: in an earlier stage, or earlier in its
// own group, or in the same merged operator.
void expect_sound(const OperatorGraph& graph, const OperatorSchedule& schedule) {
  std::vector<int> ended(graph.operators.size(), 0);
  for (const OperatorStage& stage : schedule.stages) {
    const std::vector<int> before = ended;
    for (const OperatorGroup& group : stage.as_run()) {
      std::vector<int> own = before;
      for (const int unit : group) {
        for (const int one : operators_of(graph, unit)) own[static_cast<std::size_t>(one)] = 1;
        for (const int one : operators_of(graph, unit)) {
          ++ended[static_cast<std::size_t>(one)];
          for (const int waits : graph.operators[static_cast<std::size_t>(one)].after)
            RC_ASSERT(own[static_cast<std::size_t>(waits)] == 1);
        }
      }
    }
  }
  RC_ASSERT(ended == std::vector<int>(graph.operators.size(), 1));
}

RC_GTEST_PROP(MergedStage, BothStrategiesCostAtMostEitherAndRunEverythingOnce, ()) {
  const MergingStage made(*rc::gen::inRange(1, 14), *rc::gen::inRange<std::uint64_t>(0, 1U << 20));
  const StageLimits limits{.group_size = *rc::gen::inRange(1, 6),
                           .groups = *rc::gen::inRange(1, 6),
                           .block = *rc::gen::inRange(1, 33),
                           .endings = *rc::gen::inRange(1, 20000)};
  const StrategyStages found = strategy_stages(made.graph, made.times, made.sharing, limits);
  const OperatorSchedule& both = found.both.schedule;
  RC_ASSERT(both.time <= found.concurrent.time);
  RC_ASSERT(both.time <= found.merged.time);
  const Duration sequential = sequential_stages(made.graph, made.price()).time;
  RC_ASSERT(found.merged.time <= sequential);
  RC_ASSERT(found.concurrent.time <= sequential);
  RC_ASSERT(both.time <= greedy_stages(made.graph, made.price()).time);
  for (const OperatorSchedule& one : {both, found.concurrent, found.merged})
    expect_sound(made.graph, one);
  for (const OperatorStage& stage : found.concurrent.stages) RC_ASSERT(stage.price.run.empty());
  for (const OperatorStage& stage : found.merged.stages) RC_ASSERT(stage.as_run().size() == 1U);
}

// Without limits the search itself is at most either: each merged operator may be a stage.
RC_GTEST_PROP(MergedStage, TheSearchAloneCostsAtMostEitherStrategy, ()) {
  const MergingStage made(*rc::gen::inRange(1, 10), *rc::gen::inRange<std::uint64_t>(0, 1U << 20));
  const StageLimits limits{.group_size = 64, .groups = 64, .block = 64};
  const StrategyStages found = strategy_stages(made.graph, made.times, made.sharing, limits);
  const Duration searched = best_stages(made.graph, made.price(), limits).schedule.time;
  RC_ASSERT(searched == found.both.schedule.time);
  RC_ASSERT(found.both.exact);
}

// Tries every sequence of stages, each any set of operators that waits for nothing outside it and
// the stages before.
Duration exhaustive(const MergingStage& made, unsigned done = 0) {
  const std::size_t size = made.graph.operators.size();
  const unsigned all = (1U << size) - 1;
  if (done == all) return {};
  Duration least = Duration::max();
  for (unsigned stage = all & ~done; stage != 0; stage = (stage - 1) & all & ~done) {
    std::vector<int> group_of(size);
    std::iota(group_of.begin(), group_of.end(), 0);
    bool runs = true;
    for (std::size_t i = 0; i < size; ++i)
      for (const int before : made.graph.operators[i].after) {
        if ((stage >> i & 1U) == 0) continue;
        runs = runs && ((stage | done) >> before & 1U) != 0;
        if ((stage >> before & 1U) == 0) continue;
        const int joined = group_of[static_cast<std::size_t>(before)], own = group_of[i];
        std::replace(group_of.begin(), group_of.end(), std::max(own, joined),
                     std::min(own, joined));
      }
    if (!runs) continue;
    std::map<int, OperatorGroup> groups;
    for (std::size_t i = 0; i < size; ++i)
      if ((stage >> i & 1U) != 0) groups[group_of[i]].push_back(static_cast<int>(i));
    OperatorGroups list;
    for (const auto& [first, group] : groups) list.push_back(group);
    least = std::min(least, made.price()(list).time + exhaustive(made, done | stage));
  }
  return least;
}

TEST(MergedStage, StagesAreTheExhaustiveOptimum) {
  constexpr StageLimits kNoLimits{.group_size = 64, .groups = 64, .block = 64};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const MergingStage made(2 + static_cast<int>(seed % 5), seed);
    EXPECT_EQ(best_stages(made.graph, made.price(), kNoLimits).schedule.time, exhaustive(made))
        << seed;
  }
}

// Two that run as one and a third beside them, in one stage of two cores.
TEST(MergedStage, RunsMergedOperatorsBesideOthers) {
  OperatorGraph graph;
  graph.operators = {{"a", {}}, {"b", {}}, {"c", {}}};
  graph.merges = {{"a + b", {0, 1}}};
  const std::vector<OperatorTime> times(4, {Duration{10}, Duration{10}});
  const StagePrice price = merged_stage(graph, {{0}, {1}, {2}}, times, {2, Duration{1}});
  EXPECT_EQ(price.time, Duration{11});
  EXPECT_EQ(price.run, (OperatorGroups{{2}, {3}}));
  // One core runs the two that are left one after another.
  const OperatorSchedule alone = merged_stages(graph, times);
  EXPECT_EQ(alone.time, Duration{20});
  EXPECT_EQ(alone.stages.front().as_run(), (OperatorGroups{{2, 3}}));
}

// The second of each waits for the first of the other, so that only one pair may run as one.
TEST(MergedStage, RefusesMergesThatWouldWaitForEachOther) {
  OperatorGraph graph;
  graph.operators = {{"a", {}}, {"b", {}}, {"a2", {1}}, {"b2", {0}}};
  graph.merges = {{"a + a2", {0, 2}}, {"b + b2", {1, 3}}};
  const OperatorGroups groups = {{0, 3}, {1, 2}};
  EXPECT_EQ(merged_groups(graph, groups, {0, 1}), std::nullopt);
  EXPECT_EQ(merged_groups(graph, groups, {0}), (OperatorGroups{{1, 4, 3}}));
  EXPECT_EQ(merged_groups(graph, groups, {}), groups);
}

// A cut between two that may run as one would lose their merge.
TEST(MergedStage, NoBlockBeginsAmongThoseThatRunAsOne) {
  OperatorGraph graph;
  graph.operators = {{"a", {}}, {"b", {0}}, {"c", {1}}};
  graph.merges = {{"a + b", {0, 1}}};
  std::vector<OperatorTime> times(4, {Duration{10}, Duration{10}});
  const PriceStage price = [&](const OperatorGroups& groups) {
    return merged_stage(graph, groups, times, {2, Duration{}});
  };
  const BestStages found = best_stages(graph, price);
  EXPECT_EQ(found.schedule.time, Duration{20});
  EXPECT_EQ(found.blocks, 2);
  graph.merges[0].operators = {0, 3};
  EXPECT_THROW(best_stages(graph, price), Error);
}

}  // namespace
}  // namespace trainyard
