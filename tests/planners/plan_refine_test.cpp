#include "planners/plans/plan_refine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/workspace/scenario/run_once.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/plans/cost_models.h"
#include "planners/plans/exact_price.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

PlanSpace space_of(const char* model, const char* cluster, const char* batch) {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  apply_setting(s.plan, batch);
  const std::vector<Bound> bounds{
      {"micro-batch", "1,2,4"}, {"schedule", "1f1b,interleaved"}, {"virtual-stages", "1,2"}};
  return {s, {}, bounds};
}

// If memory is short, recomputing some layers beats recomputing all or none; each such plan can be
// written down, fits, and takes the stated time.
TEST(PlanRefine, MixesFitAndAreQuicker) {
  const PlanSpace space = space_of("gpt3-13b", "a100-sxm-40:16", "global-batch=64");
  const SearchOptions options;
  const SearchResult found = search(space, options);
  ASSERT_FALSE(found.best.empty());
  const std::vector<RefinedPlan> refined = refine(space, found, options, 8);
  ASSERT_FALSE(refined.empty());
  CostModels costs({});
  for (const RefinedPlan& one : testing::non_empty(refined)) {
    EXPECT_LT(one.step, found.best.front().step);
    ASSERT_FALSE(one.changes.empty());
    Scenario s = space.scenario(one.from);
    for (const std::string& word : one.changes) apply_setting(s.plan, word);
    EXPECT_EQ(s.plan, one.plan);
    const ExactPrice price = exact_price(s, costs.of(s));
    EXPECT_EQ(price.illegal, Fate::Untried);
    EXPECT_EQ(price.step, one.step);
    EXPECT_EQ(price.memory, one.memory);
    EXPECT_LE(price.memory, s.cluster.device.memory.value);
  }
  EXPECT_TRUE(std::is_sorted(
      refined.begin(), refined.end(),
      [](const RefinedPlan& a, const RefinedPlan& b) { return a.time() < b.time(); }));
}

TEST(PlanRefine, WhatASimulatorRefusesIsLeftOut) {
  const PlanSpace space = space_of("gpt3-13b", "a100-sxm-40:16", "global-batch=64");
  SearchOptions options;
  const SearchResult found = search(space, options);
  options.simulator = [](const Scenario& s) {
    return SimulatedPlan{Duration{1}, s.cluster.device.memory.value + Bytes{1}};
  };
  EXPECT_TRUE(refine(space, found, options, 4).empty());
  options.simulator = [&](const Scenario&) {
    return SimulatedPlan{found.best.front().step + Duration{1}, Bytes{1}};
  };
  EXPECT_TRUE(refine(space, found, options, 4).empty());
}

// Waves that share each device of a tensor group hide each other's all-reduces, where the search
// may choose them and nothing else can.
TEST(PlanRefine, WavesOfOneDeviceAreTriedWhereTheSearchMayChooseThem) {
  for (const bool may : {true, false}) {
    Scenario s{zoo_model("llama-3-8b"), parse_cluster("h100-sxm:8"), {}};
    apply_setting(s.plan, "global-batch=2");
    apply_setting(s.plan, "sequence=65536");
    const std::vector<Bound> bounds{
        {"tp", "8"}, {"micro-batch", "1,2"}, {"schedule", may ? "1f1b,tick-tock" : "1f1b"}};
    const PlanSpace space(s, {}, bounds);
    SearchOptions options;
    options.simulate = 4;
    options.simulator = [](const Scenario& one) {
      const Result result = run_once(one, {.grain = natural_grain(one)})->result;
      return SimulatedPlan{result.step.value, result.memory.front().reserved};
    };
    const SearchResult found = search(space, options);
    ASSERT_FALSE(found.best.empty());
    const std::vector<RefinedPlan> refined = refine(space, found, options, 8);
    const auto waves = std::find_if(refined.begin(), refined.end(), [](const RefinedPlan& one) {
      return one.changes == std::vector<std::string>{"schedule=tick-tock"};
    });
    ASSERT_EQ(waves != refined.end(), may);
    if (!may) continue;
    EXPECT_LT(to_seconds(waves->simulated), 0.95 * to_seconds(found.best.front().time()));
    EXPECT_LE(waves->memory, s.cluster.device.memory.value);
  }
}

TEST(PlanRefine, NothingToRefineIsNothing) {
  const PlanSpace space = space_of("gpt3-175b", "a100-sxm-40:8", "global-batch=8");
  const SearchResult found = search(space);
  EXPECT_TRUE(refine(space, found, {}, 4).empty());
}

}  // namespace
}  // namespace trainyard
