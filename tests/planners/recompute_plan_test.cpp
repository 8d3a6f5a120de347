// Tests recomputation of whole plans: the result fits, no single policy that fits is faster, and on
// small plans no mix is faster either.
#include "planners/recompute/recompute_plan.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::mixture;
using testing::scenario;

struct Point {
  Duration step{};
  Bytes reserved{};  // of the fullest device
};

Point priced(Scenario s, std::string_view policy, const CostModel& cost) {
  apply_setting(s.plan, "recompute", policy);
  const StepEstimate e = estimate_step(prepare(s), cost);
  return {e.step, *std::max_element(e.reserved.begin(), e.reserved.end())};
}

Scenario drawn_plan(std::uint64_t seed) {
  const Random random(seed);
  std::uint64_t i = 0;
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return random.between(i++, low, high);
  };
  for (;;) {
    Scenario s = scenario(pick(0, 3) == 0 ? mixture() : gpt({.layers = 8}), 8, {});
    const char* schedules[] = {"gpipe", "1f1b", "interleaved", "zb-h1", "chimera"};
    const std::string schedule = schedules[pick(0, 4)];
    apply_setting(s.plan, "schedule", schedule);
    s.plan.mesh.pp = 1 << pick(schedule == "chimera" ? 1 : 0, 2);
    if (schedule == "interleaved") s.plan.virtual_stages = 2;
    s.plan.mesh.tp = 1 << pick(0, 1);
    s.plan.flash_attention = pick(0, 1) == 0;
    s.plan.batch.micro = pick(1, 4);
    apply_setting(s.plan, "zero", std::to_string(pick(0, 1)));
    if (pick(0, 1) == 0) apply_setting(s.plan, "framework=megatron-core");
    s.plan.batch.global = s.plan.batch.micro * (8 / s.plan.mesh.pp / s.plan.mesh.tp) *
                          s.plan.mesh.pp * pick(1, 3) * 2;
    if (!has_errors(check(s))) return s;
  }
}

constexpr const char* kUniform[] = {"none", "selective",  "op",
                                    "full", "keep=input", "keep=attention"};

TEST(RecomputePlan, IsNeverSlowerThanAnyPolicyThatFits) {
  int mixed = 0, several = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Scenario s = drawn_plan(seed);
    const auto cost = physical_cost_model(s);
    const Point none = priced(s, "none", *cost), full = priced(s, "full", *cost);
    for (const double share : {0.15, 0.5, 0.85, 1.1}) {
      const Bytes limit{full.reserved.value +
                        static_cast<std::int64_t>(
                            share * static_cast<double>((none.reserved - full.reserved).value))};
      SCOPED_TRACE("seed " + std::to_string(seed) + " share " + std::to_string(share));
      const RecomputeChoice choice = optimal_recompute(s, *cost, {.limit = limit});
      const Point found = priced(s, choice.text, *cost);
      EXPECT_EQ(found.step, choice.step) << choice.text;
      EXPECT_LE(found.reserved, limit) << choice.text;
      EXPECT_EQ(limit - found.reserved, choice.margin) << choice.text;
      for (const char* policy : kUniform) {
        const Point other = priced(s, policy, *cost);
        if (other.reserved <= limit) {
          EXPECT_LE(choice.step, other.step) << choice.text << " against " << policy;
        }
      }
      for (const RecomputeChoice::Device& d : testing::non_empty(choice.devices))
        EXPECT_LE(d.bound, d.again);
      if (choice.found_by == "mix of policies") ++mixed;
      ++several;
    }
  }
  EXPECT_GT(mixed, several / 3);
}

// Every assignment of four policies to the layers of two stages.
TEST(RecomputePlan, IsTheBestOfEveryMixOfSmallPlans) {
  for (const char* schedule : {"schedule=1f1b", "schedule=gpipe"}) {
    const Scenario s =
        scenario(gpt({.layers = 4}), 2,
                 {"pp=2", schedule, "micro-batch=2", "global-batch=16", "flash-attention=off"});
    const auto cost = physical_cost_model(s);
    const std::vector<std::string> words = {"none", "selective", "op", "full"};
    std::vector<std::string> stages;
    for (std::size_t a = 0; a < words.size(); ++a)
      for (std::size_t b = a; b < words.size(); ++b) stages.push_back(words[b] + "*1," + words[a]);
    std::vector<std::pair<std::string, Point>> all;
    for (const std::string& first : stages)
      for (const std::string& second : stages) {
        const std::string text = first + "/" + second;
        all.emplace_back(text, priced(s, text, *cost));
      }
    const Bytes none = priced(s, "none", *cost).reserved, full = priced(s, "full", *cost).reserved;
    for (int part = 1; part <= 6; ++part) {
      const Bytes limit{full.value + (none - full).value * part / 6};
      const RecomputeChoice choice = optimal_recompute(s, *cost, {.limit = limit});
      for (const auto& [text, point] : testing::non_empty(all))
        if (point.reserved <= limit) {
          EXPECT_LE(choice.step, point.step) << choice.text << " against " << text;
        }
    }
  }
}

// The first stage of 1F1B holds more microbatches, so more of its layers recompute.
TEST(RecomputePlan, EarlyStagesRecomputeMore) {
  const Scenario s =
      scenario(gpt({.layers = 16}), 4, {"pp=4", "micro-batch=4", "global-batch=64", "zero=0"});
  const auto cost = physical_cost_model(s);
  const Bytes none = priced(s, "none", *cost).reserved, full = priced(s, "full", *cost).reserved;
  const RecomputeChoice choice =
      optimal_recompute(s, *cost, {.limit = Bytes{(none.value + full.value) / 2}});
  EXPECT_EQ(choice.found_by, "mix of policies");
  ASSERT_EQ(choice.devices.size(), 4u);
  EXPECT_GT(choice.devices.front().again, choice.devices.back().again) << choice.text;
  EXPECT_NE(choice.text.find('/'), std::string::npos) << choice.text;
}

TEST(RecomputePlan, WhatFitsKeepsEverything) {
  const Scenario s = scenario(gpt(), 8, {"recompute=full"});
  const auto cost = physical_cost_model(s);
  EXPECT_EQ(optimal_recompute(s, *cost).text, "none");
}

TEST(RecomputePlan, SaysByHowMuchTheLeastIsOver) {
  const Scenario s = scenario(gpt(), 1, {"micro-batch=8"});
  const auto cost = physical_cost_model(s);
  const Bytes full = priced(s, "full", *cost).reserved;
  try {
    optimal_recompute(s, *cost, {.limit = Bytes{full.value / 2}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::InvalidInput);
    EXPECT_EQ(
        std::string(e.what()).find("no recomputation fits: the plan of least memory, recompute="),
        0u)
        << e.what();
    EXPECT_NE(std::string(e.what()).find(" over "), std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard
