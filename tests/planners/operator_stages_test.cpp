#include "planners/branches/operator_stages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"
#include "planners/branches/stage_time.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

OperatorGraph chain(int size) {
  OperatorGraph graph;
  for (int i = 0; i < size; ++i)
    graph.operators.push_back({"op", i > 0 ? std::vector<int>{i - 1} : std::vector<int>{}});
  return graph;
}

// Each operator waits for each one before it with a chance of `share`.
OperatorGraph random_graph(int size, double share, std::uint64_t seed) {
  OperatorGraph graph;
  const Random random(seed, 0);
  for (int i = 0; i < size; ++i) {
    graph.operators.push_back({"op", {}});
    for (int before = 0; before < i; ++before)
      if (random.uniform(static_cast<std::uint64_t>(64 * i + before)) < share)
        graph.operators.back().after.push_back(before);
  }
  return graph;
}

std::vector<OperatorTime> random_times(int size, std::uint64_t seed) {
  std::vector<OperatorTime> times;
  const Random random(seed, 1);
  for (int i = 0; i < size; ++i) {
    const std::int64_t alone = random.between(static_cast<std::uint64_t>(2 * i), 1, 1000),
                       more = random.between(static_cast<std::uint64_t>(2 * i + 1), 0, alone);
    times.push_back({Duration{alone}, Duration{alone + more}});
  }
  return times;
}

PriceStage on_cores(std::vector<OperatorTime> times, CoreSharing sharing) {
  return [times = std::move(times), sharing](const OperatorGroups& groups) {
    return StagePrice{stage_time(groups, times, sharing)};
  };
}

// The rate of a device grows with the square root of the groups that it runs at once.
PriceStage concave(std::vector<OperatorTime> times, Duration join) {
  return [times = std::move(times), join](const OperatorGroups& groups) {
    std::int64_t sum = 0, longest = 0;
    for (const OperatorGroup& group : groups) {
      std::int64_t own = 0;
      for (const int one : group) own += times[static_cast<std::size_t>(one)].alone.count();
      sum += own, longest = std::max(longest, own);
    }
    if (groups.size() == 1) return StagePrice{Duration{sum}};
    const double rate = std::sqrt(static_cast<double>(groups.size()));
    const auto shared = static_cast<std::int64_t>(static_cast<double>(sum) / rate);
    return StagePrice{join + Duration{std::max(longest, shared)}};
  };
}

// Tries every sequence of stages from the first one on, without tables, and groups operators by
// walking their dependences.
class EveryPartition {
 public:
  EveryPartition(const OperatorGraph& graph, const PriceStage& price, std::size_t group_size,
                 std::size_t groups)
      : graph_(graph), price_(price), group_size_(group_size), most_groups_(groups) {}

  Duration best(unsigned done = 0) {
    const unsigned all = (1U << graph_.operators.size()) - 1;
    if (done == all) return {};
    Duration least = Duration::max();
    for (unsigned stage = all & ~done; stage != 0; stage = (stage - 1) & all & ~done) {
      if (!may_run(stage, done)) continue;
      const Duration time = priced(stage);
      if (time != Duration::max()) least = std::min(least, time + best(done | stage));
    }
    return least;
  }

 private:
  bool may_run(unsigned stage, unsigned done) const {
    for (std::size_t i = 0; i < graph_.operators.size(); ++i)
      for (const int before : graph_.operators[i].after)
        if ((stage >> i & 1U) != 0 && ((stage | done) >> before & 1U) == 0) return false;
    return true;
  }
  Duration priced(unsigned stage) {
    const auto [known, is_new] = prices_.try_emplace(stage, Duration::max());
    if (!is_new) return known->second;
    std::vector<std::size_t> of(graph_.operators.size());  // by operator: a member of its group
    std::iota(of.begin(), of.end(), std::size_t{0});
    for (std::size_t round = 0; round < of.size(); ++round)
      for (std::size_t i = 0; i < of.size(); ++i)
        for (const int before : graph_.operators[i].after)
          if ((stage >> i & 1U) != 0 && (stage >> before & 1U) != 0)
            of[i] = of[static_cast<std::size_t>(before)] =
                std::min(of[i], of[static_cast<std::size_t>(before)]);
    std::map<std::size_t, OperatorGroup> groups;
    for (std::size_t i = 0; i < of.size(); ++i)
      if ((stage >> i & 1U) != 0) groups[of[i]].push_back(static_cast<int>(i));
    OperatorGroups list;
    for (const auto& [first, group] : groups) {
      if (group.size() > group_size_) return known->second;
      list.push_back(group);
    }
    if (list.size() <= most_groups_) known->second = price_(list).time;
    return known->second;
  }

  const OperatorGraph& graph_;
  const PriceStage& price_;
  const std::size_t group_size_, most_groups_;
  std::map<unsigned, Duration> prices_;
};

constexpr StageLimits kWithout{.group_size = 64, .groups = 64, .block = 64};

TEST(OperatorStages, AreTheExhaustiveOptimum) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const int size = 2 + static_cast<int>(seed % 6);
    const OperatorGraph graph =
        random_graph(size, 0.15 + 0.1 * static_cast<double>(seed % 4), seed);
    const std::vector<OperatorTime> times = random_times(size, seed);
    for (const PriceStage& price :
         {concave(times, Duration{20}), on_cores(times, {2, Duration{20}}),
          on_cores(times, {3, Duration{0}})}) {
      const BestStages found = best_stages(graph, price, kWithout);
      EXPECT_EQ(found.schedule.time, EveryPartition(graph, price, 64, 64).best()) << seed;
      EXPECT_TRUE(found.exact);
      EXPECT_FALSE(found.greedy);
    }
  }
}

TEST(OperatorStages, AreTheExhaustiveOptimumOfEightOperators) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const OperatorGraph graph = random_graph(8, 0.3, seed);
    const PriceStage price = concave(random_times(8, seed), Duration{50});
    EXPECT_EQ(best_stages(graph, price, kWithout).schedule.time,
              EveryPartition(graph, price, 64, 64).best())
        << seed;
  }
}

TEST(OperatorStages, AreTheExhaustiveOptimumWithinTheLimits) {
  for (std::uint64_t seed = 200; seed < 240; ++seed) {
    const int size = 4 + static_cast<int>(seed % 4);
    const OperatorGraph graph = random_graph(size, 0.3, seed);
    const PriceStage price = concave(random_times(size, seed), Duration{5});
    const BestStages found = best_stages(graph, price, {.group_size = 2, .groups = 2});
    const Duration within = EveryPartition(graph, price, 2, 2).best(),
                   greedy = greedy_stages(graph, price).time;
    EXPECT_EQ(found.schedule.time, std::min(within, greedy)) << seed;
    EXPECT_EQ(found.greedy, greedy < within) << seed;
    if (found.greedy) continue;
    for (const OperatorStage& stage : found.schedule.stages) {
      EXPECT_LE(stage.groups.size(), 2U);
      for (const OperatorGroup& group : stage.groups) EXPECT_LE(group.size(), 2U);
    }
  }
}

// Two operators of one input may run as one that takes less than both.
TEST(OperatorStages, MergeWhereThatTakesLess) {
  OperatorGraph graph;
  graph.operators = {{"in", {}}, {"left", {0}}, {"right", {0}}, {"out", {1, 2}}};
  const PriceStage price = [](const OperatorGroups& groups) {
    const auto count = std::accumulate(groups.begin(), groups.end(), std::size_t{0},
                                       [](std::size_t n, const auto& g) { return n + g.size(); });
    if (groups == OperatorGroups{{1}, {2}}) return StagePrice{Duration{12}, {{4}}};
    return StagePrice{Duration{10} * static_cast<int>(count)};
  };
  const BestStages found = best_stages(graph, price);
  EXPECT_EQ(found.schedule.time, Duration{32});
  ASSERT_EQ(found.schedule.stages.size(), 3U);
  EXPECT_EQ(found.schedule.stages[1].as_run(), (OperatorGroups{{4}}));
  EXPECT_EQ(found.schedule.stages[0].as_run(), (OperatorGroups{{0}}));
}

// Each operator is in one stage, after all that it waits for or behind them in its group; stages
// are priced, and their sum is the schedule's.
void expect_sound(const OperatorGraph& graph, const OperatorSchedule& schedule,
                  const PriceStage& price) {
  std::vector<int> seen(graph.operators.size(), 0);
  Duration sum{};
  for (const OperatorStage& stage : schedule.stages) {
    const std::vector<int> before = seen;
    for (const OperatorGroup& group : stage.groups) {
      std::vector<int> own = before;
      for (const int one : group) {
        for (const int waits : graph.operators[static_cast<std::size_t>(one)].after)
          RC_ASSERT(own[static_cast<std::size_t>(waits)] == 1);
        own[static_cast<std::size_t>(one)] = 1;
        ++seen[static_cast<std::size_t>(one)];
      }
    }
    RC_ASSERT(stage.price.time == price(stage.groups).time);
    sum += stage.price.time;
  }
  RC_ASSERT(seen == std::vector<int>(graph.operators.size(), 1));
  RC_ASSERT(sum == schedule.time);
}

RC_GTEST_PROP(OperatorStages, AreNeverSlowerThanGreedyOrSequential, ()) {
  const int size = *rc::gen::inRange(1, 24), cores = *rc::gen::inRange(1, 5);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1U << 20);
  const OperatorGraph graph = random_graph(size, *rc::gen::inRange(1, 10) / 10.0, seed);
  const PriceStage price =
      on_cores(random_times(size, seed), {cores, Duration{*rc::gen::inRange(0, 500)}});
  const StageLimits limits{.group_size = *rc::gen::inRange(1, 4),
                           .groups = *rc::gen::inRange(1, 5),
                           .block = *rc::gen::inRange(1, 25),
                           .endings = *rc::gen::inRange(1, 20000)};
  const BestStages found = best_stages(graph, price, limits);
  const OperatorSchedule greedy = greedy_stages(graph, price),
                         sequential = sequential_stages(graph, price);
  for (const OperatorSchedule* each : {&found.schedule, &greedy, &sequential})
    expect_sound(graph, *each, price);
  RC_ASSERT(found.schedule.time <= greedy.time);
  RC_ASSERT(found.schedule.time <= sequential.time);
}

TEST(OperatorStages, OfAChainAreFoundOneByOne) {
  const OperatorGraph graph = chain(1000);
  const PriceStage price = on_cores(random_times(1000, 1), {2, Duration{100}});
  const BestStages found = best_stages(graph, price);
  EXPECT_EQ(found.schedule.time, sequential_stages(graph, price).time);
  EXPECT_EQ(found.blocks, 1000);
  EXPECT_EQ(found.states, 2000);  // nothing left, and the operator left
  EXPECT_TRUE(found.exact);
}

// 125 layers of eight operators: a norm, three products of it, what reads all three, a product, a
// residual of the norm's input, and a product that the next layer reads.
TEST(OperatorStages, OfManyLayersGrowWithTheirWidthAlone) {
  OperatorGraph graph;
  for (int layer = 0; layer < 125; ++layer) {
    const int i = 8 * layer;
    graph.operators.push_back({"norm", i > 0 ? std::vector<int>{i - 1} : std::vector<int>{}});
    for (int product = 0; product < 3; ++product) graph.operators.push_back({"product", {i}});
    graph.operators.push_back({"attention", {i + 1, i + 2, i + 3}});
    graph.operators.push_back({"product", {i + 4}});
    graph.operators.push_back({"residual", {i, i + 5}});
    graph.operators.push_back({"product", {i + 6}});
  }
  const PriceStage price = on_cores(random_times(1000, 2), {2, Duration{10}});
  const BestStages found = best_stages(graph, price);
  EXPECT_TRUE(found.exact);
  EXPECT_LT(found.states, 3000);
  EXPECT_LT(found.schedule.time, sequential_stages(graph, price).time);
}

// A weight gradient hangs from each of 500 products: what is left to do may be any set of them, so
// that the search goes over blocks, and says so.
TEST(OperatorStages, OfABackwardAreSearchedInBlocks) {
  const int operators = testing::sanitized() ? 200 : 1000;
  OperatorGraph graph;
  for (int i = 0; i < operators; i += 2) {
    const std::vector<int> after = i > 0 ? std::vector<int>{i - 2} : std::vector<int>{};
    graph.operators.push_back({"input gradient", after});
    graph.operators.push_back({"weight gradient", after});
  }
  const PriceStage price = on_cores(random_times(operators, 3), {2, Duration{10}});
  const BestStages found = best_stages(graph, price);
  EXPECT_FALSE(found.exact);
  EXPECT_GE(found.blocks, operators / 32);
  EXPECT_LT(found.states, 200000);
  EXPECT_LE(found.schedule.time, greedy_stages(graph, price).time);
  EXPECT_LT(found.schedule.time, sequential_stages(graph, price).time);
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(OperatorStages, RefuseWhatIsNoGraphAndNoLimit) {
  const PriceStage price = on_cores(random_times(2, 1), {});
  EXPECT_EQ(refusal([&] { best_stages({}, price); }), "expected operators, found none");
  OperatorGraph circle;
  circle.operators = {{"a", {1}}, {"b", {}}};
  EXPECT_EQ(refusal([&] { greedy_stages(circle, price); }),
            "operator 0 (a) waits for operator 1, expected one before it");
  EXPECT_EQ(refusal([&] { best_stages(chain(2), price, {.group_size = 0}); }),
            "expected operators of a group in [1, 64], found 0");
  EXPECT_EQ(refusal([&] { best_stages(chain(2), price, {.block = 65}); }),
            "expected operators of a block in [1, 64], found 65");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(refusal([&] { best_stages(chain(2), price, {}, stop.get_token()); }),
            "stopped before the stages were found");
}

TEST(StageTime, IsTheSumOnOneCoreAndSharesSeveral) {
  const std::vector<OperatorTime> times = {
      {Duration{100}, Duration{150}}, {Duration{50}, Duration{100}}, {Duration{30}, Duration{30}}};
  const CoreSharing two{2, Duration{7}};
  EXPECT_EQ(stage_time({{0, 1}}, times, two), Duration{150});  // joins nothing
  // The second ends after 100, when two thirds of the first are done; a third alone takes 33.
  EXPECT_EQ(stage_time({{0}, {1}}, times, two), Duration{7 + 133});
  EXPECT_EQ(stage_time({{0}, {1}}, times, {1, Duration{7}}), Duration{7 + 150});
  // On three cores the first two halve what two of three working cores lose.
  EXPECT_EQ(stage_time({{0}, {1}}, times, {3, Duration{}}), Duration{75 + 40});
  EXPECT_EQ(deal({{2}, {1}, {0}}, times, 2), (std::vector<std::vector<int>>{{0}, {1, 2}}));
}

// A picture of a stage shows what its price says.
TEST(StageTime, IsWhereTheLastSpanEndsAndTheJoin) {
  EXPECT_TRUE(rc::check("spans of a stage", [] {
    const auto count = *rc::gen::inRange(1, 9);
    std::vector<OperatorTime> times;
    OperatorGroups groups;
    for (int i = 0; i < count; ++i) {
      const Duration alone{*rc::gen::inRange(1, 1000)};
      times.push_back({alone, alone + Duration{*rc::gen::inRange(0, 1000)}});
      if (groups.empty() || *rc::gen::arbitrary<bool>()) groups.emplace_back();
      groups.back().push_back(i);
    }
    const CoreSharing sharing{*rc::gen::inRange(1, 5), Duration{*rc::gen::inRange(0, 50)}};
    const std::vector<OperatorSpan> spans = operator_spans(groups, times, sharing);
    RC_ASSERT(spans.size() == times.size());
    RC_ASSERT(stage_time(groups, times, sharing) ==
              spans.back().end + (groups.size() > 1 ? sharing.join : Duration{}));
    std::vector<Duration> busy(static_cast<std::size_t>(sharing.cores));
    for (const OperatorSpan& span : spans) {
      const OperatorTime& time = times[static_cast<std::size_t>(span.op)];
      Duration& until = busy[static_cast<std::size_t>(span.core)];
      RC_ASSERT(span.start == until);  // a core of a stage never waits
      until = span.end;
      // Ends are rounded to nanoseconds.
      RC_ASSERT(span.end - span.start >= time.alone - Duration{1});
      RC_ASSERT(span.end - span.start <= time.beside + Duration{1});
    }
  }));
}

}  // namespace
}  // namespace trainyard
