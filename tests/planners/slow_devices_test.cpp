// Clusters whose devices are not equally fast: the closed form against the formula and against
// simulated draws, and plans of which fewer devices wait for each other.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/workspace/scenario/run_once.h"
#include "core/base/random.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/estimate/straggling.h"
#include "core/methods/parallel/waiting_devices.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/plan_search.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Scenario of_layers(int layers, const std::string& cluster,
                   const std::vector<std::string>& settings) {
  Scenario s{zoo_model("gpt2"), parse_cluster(cluster), {}};
  for (Block& block : s.model.blocks)
    if (block.layer) block.count = layers;
  for (const std::string& word : settings) apply_setting(s.plan, word);
  return s;
}

Duration estimated(Scenario s, const Slowness& slow) {
  s.cluster.slowness = slow;
  return estimate_step(prepare(s), *physical_cost_model(s)).step;
}

Duration simulated(Scenario s, const Slowness& slow) {
  s.cluster.slowness = slow;
  const auto cost = physical_cost_model(s);
  return run_once(s, {.cost = cost.get()})->result.step.value;
}

// Nothing is exchanged on one device, so that all of the step is computation.
TEST(SlowDevices, OneDeviceTakesTheMeanOfItsDraws) {
  const Scenario s = of_layers(4, "h100-sxm:1", {"global-batch=8"});
  const double equal = to_seconds(estimated(s, {}));
  for (const double sigma : {0.05, 0.3})
    EXPECT_NEAR(to_seconds(estimated(s, {.lasting = sigma})) / equal, std::exp(sigma * sigma / 2),
                1e-6);
  EXPECT_NEAR(to_seconds(estimated(s, {.throttled = 1.5})) / equal, 1.5, 1e-6);
  EXPECT_NEAR(to_seconds(simulated(s, {.throttled = 1.5})) / to_seconds(simulated(s, {})), 1.5,
              1e-6);
}

// `trainyard stragglers` and the closed form of a plan are one definition.
TEST(SlowDevices, ReplicasAreAsSlowAsTheStudyOfStragglersSays) {
  for (const std::int64_t devices : {2, 8, 32})
    for (const std::int64_t period : {1, 10}) {
      const StragglingQuestion q{
          .replicas = devices, .period = period, .sigma = 0.04, .lasting = 0.1, .throttled = 1.2};
      std::vector<std::string> settings = {"global-batch=64", "micro-batch=1"};
      if (period > 1) settings.insert(settings.end(), {"sync=local-sgd", "sync.period=10"});
      Scenario s = of_layers(2, "h100-sxm:" + std::to_string(devices) + ",per-node=1", settings);
      const Workload w = prepare(s);
      Scenario complete = w.scenario;
      complete.cluster.slowness = slowness_of(q);
      EXPECT_NEAR(expected_slowness(complete).at(0), expected_step(q, devices, period), 1e-12)
          << devices << " " << period;
    }
}

Scenario random_scenario(const Random& random) {
  std::uint64_t at = 0;
  const auto one_of = [&](const std::vector<std::string>& words) {
    return words[random.bits(at++) % words.size()];
  };
  return of_layers(8, "h100-sxm:" + one_of({"8", "16", "32"}) + one_of({"", ",per-node=4"}),
                   {"pp=" + one_of({"1", "2", "4"}), "tp=" + one_of({"1", "2"}),
                    "global-batch=" + one_of({"64", "128"}), "micro-batch=1",
                    "schedule=" + one_of({"1f1b", "gpipe"}), "seq=512"});
}

// The band that waiting_devices.h states.
TEST(SlowDevices, TheClosedFormIsTheMeanOfSimulatedDraws) {
  constexpr double kBand = 0.05;
  constexpr std::uint64_t kDraws = 20;
  for (std::uint64_t seed = 2; seed < 10; ++seed) {
    const Random random(seed, 11);
    const Scenario s = random_scenario(random);
    Slowness slow{.lasting = 0.1 * random.uniform(90), .jitter = 0.1 * random.uniform(91)};
    if (random.bits(92) % 3 == 0) slow.throttled = 1 + random.uniform(93);
    if (random.bits(94) % 3 == 0) slow.slow_link = 1 + 3 * random.uniform(95);
    const double closed = to_seconds(estimated(s, slow)) / to_seconds(estimated(s, {}));
    double drawn = 0;
    for (slow.seed = 1; slow.seed <= kDraws; ++slow.seed)
      drawn += to_seconds(simulated(s, slow)) / static_cast<double>(kDraws);
    drawn /= to_seconds(simulated(s, {}));
    EXPECT_NEAR(closed / drawn, 1, kBand) << seed << " " << closed << " " << drawn;
  }
}

// It never drains, so that however few microbatches it has, the slowest of all devices is waited
// for.
TEST(SlowDevices, AnAsynchronousPipelineIsAsSlowAsTheSlowestOfAllDevices) {
  constexpr std::uint64_t kDraws = 20;
  const Scenario s =
      of_layers(8, "h100-sxm:32",
                {"pp=4", "global-batch=16", "micro-batch=1", "schedule=pipedream", "seq=512"});
  Slowness slow{.lasting = 0.1};
  Scenario complete = prepare(s).scenario;
  complete.cluster.slowness = slow;
  for (const double factor : expected_slowness(complete))
    EXPECT_DOUBLE_EQ(factor, slowest_step(32, 0.1));
  double drawn = 0;
  for (slow.seed = 1; slow.seed <= kDraws; ++slow.seed)
    drawn += to_seconds(simulated(s, slow)) / static_cast<double>(kDraws);
  EXPECT_NEAR(to_seconds(estimated(s, slow)) / to_seconds(estimated(s, {})) /
                  (drawn / to_seconds(simulated(s, {}))),
              1, 0.05);
}

// Two slow devices in different stages of different replicas: each replica waits for its own alone.
TEST(SlowDevices, SeparatePipelinesWaitForTheirOwnDevices) {
  const auto slowness = [](const std::vector<std::string>& more) {
    std::vector<std::string> settings = {"pp=4", "global-batch=32", "micro-batch=1", "seq=512"};
    settings.insert(settings.end(), more.begin(), more.end());
    Scenario s = prepare(of_layers(8, "h100-sxm:16", settings)).scenario;
    s.cluster.slowness = {.lasting = 0.2, .seed = 5};
    return std::pair(separate_pipelines(s), drawn_slowness(s));
  };
  const auto [apart, own] = slowness({});
  const auto [together, all] = slowness({"zero=3"});
  EXPECT_EQ(apart, 4);
  EXPECT_EQ(together, 1);
  // The slowest replica is one of those of which each rank's slowest device is taken.
  std::vector<double> of_replica;
  std::int64_t chosen = -1;
  for (std::int64_t replica = 0; replica < 4 && chosen < 0; ++replica) {
    of_replica.clear();
    for (std::int64_t rank = 0; rank < 4; ++rank)
      of_replica.push_back(drawn_lasting(0.2, 5, rank * 4 + replica));
    if (of_replica == own) chosen = replica;
  }
  EXPECT_GE(chosen, 0);
  int less = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_LE(own[rank], all[rank]);
    less += own[rank] < all[rank] ? 1 : 0;
  }
  EXPECT_GT(less, 0);
  EXPECT_EQ(*std::max_element(own.begin(), own.end()), *std::max_element(all.begin(), all.end()));
}

TEST(SlowDevices, OneSeedIsOneStep) {
  const Scenario s = of_layers(2, "h100-sxm:8", {"global-batch=8"});
  const Slowness slow{.lasting = 0.1, .seed = 3}, other{.lasting = 0.1, .seed = 4};
  EXPECT_EQ(simulated(s, slow), simulated(s, slow));
  EXPECT_NE(simulated(s, slow), simulated(s, other));
  EXPECT_EQ(estimated(s, slow), estimated(s, other));
  // With the seed of the mean all of it is the formula.
  Scenario mean = s;
  mean.cluster.slowness = {.lasting = 0.1, .seed = kMeanOfDraws};
  const auto cost = physical_cost_model(mean);
  EXPECT_EQ(run_once(mean, {.cost = cost.get()})->prices.slower,
            expected_slowness(prepare(mean).scenario));
}

RC_GTEST_PROP(SlowDevices, MoreSpreadIsNeverFasterAndMoreDevicesNeverWaitLess, ()) {
  const auto part = [](int most) { return *rc::gen::inRange(0, most + 1) / 100.0; };
  const Slowness slow{.lasting = part(50), .jitter = part(50), .throttled = 1 + part(100)};
  const WaitingDevices d{*rc::gen::inRange<std::int64_t>(1, 40),
                         *rc::gen::inRange<std::int64_t>(1, 9),
                         *rc::gen::inRange<std::int64_t>(0, 4)};
  const double now = expected_slowness(slow, d, true);
  for (double Slowness::* more : {&Slowness::lasting, &Slowness::jitter, &Slowness::throttled}) {
    Slowness worse = slow;
    worse.*more += 0.05;
    RC_ASSERT(expected_slowness(worse, d, true) >= now * (1 - 1e-9));
  }
  if (d.period == 1)
    RC_ASSERT(expected_slowness(slow, {d.groups + 1, d.each, 1}, true) >= now * (1 - 1e-9));
  RC_ASSERT(expected_slowness(slow, d, false) <= now * (1 + 1e-9));
}

// Groups of several devices that meet seldom, against draws.
TEST(SlowDevices, GroupsThatMeetSeldomAreTheMeanOfDraws) {
  constexpr double kBand = 0.03;
  constexpr std::uint64_t kDraws = 400;
  for (const WaitingDevices& d : {WaitingDevices{8, 1, 4}, {8, 4, 4}, {4, 8, 10}, {8, 4, 0}})
    for (Slowness slow :
         {Slowness{.jitter = 0.2}, {.lasting = 0.2}, {.lasting = 0.1, .jitter = 0.2}}) {
      double drawn = 0;
      for (slow.seed = 1; slow.seed <= kDraws; ++slow.seed)
        drawn += drawn_slowness(slow, d, 1) / static_cast<double>(kDraws);
      EXPECT_NEAR(expected_slowness(slow, d, false) / drawn, 1, kBand)
          << d.groups << " " << d.each << " " << d.period << " " << slow.lasting << " "
          << slow.jitter;
    }
}

TEST(SlowDevices, TheStepNamesWhatWaitingForThemCosts) {
  Scenario s = of_layers(4, "h100-sxm:8", {"global-batch=64", "micro-batch=8"});
  EXPECT_EQ(estimate_step(prepare(s), *physical_cost_model(s)).breakdown.slower, Duration{});
  s.cluster.slowness = {.lasting = 0.3};
  const auto cost = physical_cost_model(s);
  const StepEstimate step = estimate_step(prepare(s), *cost);
  EXPECT_EQ(step.breakdown.sum(), step.step);
  const Breakdown& b = step.breakdown;
  const double factor = slowest_step(8, 0.3);
  EXPECT_NEAR(to_seconds(b.slower),
              (factor - 1) * to_seconds(b.forward + b.backward + b.recompute + b.optimizer),
              1e-6 * to_seconds(step.step));
  const auto run = run_once(s, {.cost = cost.get()});
  EXPECT_EQ(run->result.breakdown.sum(), run->result.step.value);
  EXPECT_NE(run->result.verdict.limit.find("waiting for slower devices"), std::string::npos)
      << run->result.verdict.limit;
}

// The fastest plan of a small space, found by pricing all of them.
void expect_best_of_all(const Scenario& base, const std::vector<Bound>& bounds) {
  const PlanSpace space(base, {}, bounds);
  const auto cost = physical_cost_model(base);
  const SearchResult found = search(space, {.top = 3});
  ASSERT_FALSE(found.best.empty());
  Duration best = Duration::max();
  int priced = 0;
  for (PlanId id = 0; id < space.combinations(); ++id) {
    const std::vector<std::uint32_t> digits = space.digits(id);
    const auto form = space.canonical(digits);
    if (!form || *form != digits) continue;
    const Scenario s = space.scenario(id);
    const ExactPrice price = exact_price(s, *cost);
    if (price.illegal != Fate::Untried || price.memory > memory_limit(s.cluster, {})) continue;
    best = std::min(best, price.step), ++priced;
  }
  EXPECT_GT(priced, 10);
  EXPECT_EQ(found.best.front().step, best);
}

TEST(SlowDevices, ASearchOfPlansFindsTheBestOfAll) {
  const std::vector<Bound> bounds = {
      {"micro-batch", "1,2"}, {"schedule", "1f1b"}, {"virtual-stages", "1"}, {"recompute", "none"}};
  for (const Slowness& slow :
       {Slowness{.lasting = 0.3}, {.throttled = 2}, {.jitter = 0.1, .slow_link = 8}}) {
    Scenario base = of_layers(8, "h100-sxm:16", {"global-batch=32", "seq=512"});
    base.cluster.slowness = slow;
    expect_best_of_all(base, bounds);
  }
}

// One slow device slows every replica, but only one stage of a pipeline.
TEST(SlowDevices, APlanInWhichFewerDevicesWaitMayWin) {
  const auto gain = [](const Slowness& slow) {
    const Scenario replicas = of_layers(8, "h100-sxm:8", {"global-batch=64", "sync=bsp"}),
                   seldom = of_layers(8, "h100-sxm:8",
                                      {"global-batch=64", "sync=local-sgd", "sync.period=16"});
    return to_seconds(estimated(replicas, slow)) / to_seconds(estimated(seldom, slow));
  };
  EXPECT_GT(gain({.jitter = 0.3}), 1.15 * gain({}));
  EXPECT_NEAR(gain({.lasting = 0.3}), gain({}), 0.1 * gain({}));
}

}  // namespace
}  // namespace trainyard
