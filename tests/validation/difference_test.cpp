#include "core/validation/difference.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

using Words = std::vector<std::string>;

Scenario scenario(const std::string& cluster, const Words& words,
                  const std::string& model = "llama-3-8b") {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  for (const std::string& word : words) apply_setting(s.plan, word);
  return s;
}

PlanCost estimated(const Scenario& s) {
  static const auto cost = roofline_cost_model();
  const StepEstimate e = estimate_step(prepare(s), *cost);
  PlanCost out{e.step, {}};
  for (const CategoryBytes& bytes : e.memory) out.peak = std::max(out.peak, total(bytes));
  return out;
}

PlanCost sum(const Difference& d) {
  PlanCost all = d.mine;
  for (const FieldDifference& field : d.fields) all.step += field.step, all.peak += field.peak;
  return all;
}

std::vector<std::string> names(const Difference& d) {
  std::vector<std::string> list;
  for (const FieldDifference& field : d.fields) list.push_back(field.field);
  return list;
}

TEST(Difference, OfAPlanToItselfIsNothing) {
  const Scenario s = scenario("h100-sxm:16", {"tp=2", "pp=2", "global-batch=32"});
  const Difference d = difference(s, s, estimated);
  EXPECT_TRUE(d.fields.empty());
  EXPECT_EQ(d.mine, d.theirs);
}

TEST(Difference, EachFieldIsPricedOnTopOfThoseBefore) {
  const Scenario mine = scenario("h100-sxm:16", {"tp=2", "global-batch=32", "micro-batch=1"}),
                 theirs = scenario("h100-sxm:16",
                                   {"tp=4", "global-batch=32", "micro-batch=2", "recompute=full"});
  const Difference d = difference(mine, theirs, estimated);
  ASSERT_EQ(names(d), (Words{"tp", "micro-batch", "recompute"}));
  EXPECT_EQ(d.fields[0].mine, "2");
  EXPECT_EQ(d.fields[0].theirs, "4");
  const PlanCost first =
      estimated(scenario("h100-sxm:16", {"tp=4", "global-batch=32", "micro-batch=1"}));
  EXPECT_EQ(d.fields[0].step, first.step - d.mine.step);
  EXPECT_EQ(d.fields[0].peak, first.peak - d.mine.peak);
  EXPECT_GT(d.fields[2].step, Duration{}) << "what is computed again takes time";
  EXPECT_LT(d.fields[2].peak, 0_B);
  EXPECT_EQ(sum(d), d.theirs);
}

// Three layers more in one stage cannot be said without the number of stages.
TEST(Difference, FieldsThatCannotChangeAloneAreOnePart) {
  const Scenario mine = scenario("h100-sxm:16", {"tp=2", "pp=1", "global-batch=32"}),
                 theirs =
                     scenario("h100-sxm:16", {"tp=2", "pp=4", "global-batch=32", "split=7,8,8,9"});
  const Difference d = difference(mine, theirs, estimated);
  EXPECT_EQ(sum(d), d.theirs);
  const Difference back = difference(theirs, mine, estimated);
  EXPECT_EQ(sum(back), back.theirs);
  EXPECT_EQ(names(back), (Words{"split", "pp"})) << "an even split first, then any degree";
}

TEST(Difference, DegreesThatNeedTheirDevicesComeWithThem) {
  const Scenario mine = scenario("h100-sxm:8", {"tp=8", "global-batch=24"}),
                 theirs = scenario("h100-sxm:4", {"tp=4", "global-batch=24"});
  const Difference d = difference(mine, theirs, estimated);
  EXPECT_EQ(sum(d), d.theirs);
  EXPECT_EQ(names(d).front(), "tp") << "four devices hold no tensor of eight";
}

TEST(Difference, ModelAndClusterAreFieldsToo) {
  const Difference d =
      difference(scenario("a100-sxm-80:8", {"global-batch=16", "seq=2048"}, "llama-2-7b"),
                 scenario("h100-sxm:16", {"global-batch=16", "seq=2048"}, "llama-3-8b"), estimated);
  ASSERT_GE(d.fields.size(), 3u);
  EXPECT_EQ(d.fields[0].field, "model");
  EXPECT_EQ(d.fields[1].field, "device");
  EXPECT_LT(d.fields[1].step, Duration{});
  EXPECT_EQ(sum(d), d.theirs);
}

TEST(Difference, WhatCannotRunIsSaid) {
  const Scenario fine = scenario("h100-sxm:8", {"global-batch=8"}),
                 wrong = scenario("h100-sxm:8", {"tp=3", "global-batch=8"});
  EXPECT_THROW(difference(fine, wrong, estimated), Error);
  EXPECT_THROW(difference(wrong, fine, estimated), Error);
}

TEST(Difference, PartsSumToTheWholeAndBackAgain) {
  EXPECT_TRUE(rc::check([] {
    const auto plan = [] {
      const auto power = [](int most) { return std::to_string(1 << *rc::gen::inRange(0, most)); };
      Words words = {"tp=" + power(4), "pp=" + power(3), "micro-batch=" + power(2),
                     "global-batch=" + std::to_string(64 << *rc::gen::inRange(0, 2)),
                     "zero=" + std::to_string(*rc::gen::inRange(0, 2))};
      words.push_back("recompute=" + *rc::gen::elementOf(Words{"none", "selective", "full"}));
      words.push_back("schedule=" + *rc::gen::elementOf(Words{"1f1b", "gpipe", "zb-h1"}));
      return scenario("h100-sxm:32", words);
    };
    const Scenario mine = plan(), theirs = plan();
    const Difference there = difference(mine, theirs, estimated);
    RC_ASSERT(sum(there) == there.theirs);
    RC_ASSERT(there.mine == estimated(mine));
    RC_ASSERT(there.theirs == estimated(theirs));
    const Difference back = difference(theirs, mine, estimated);
    RC_ASSERT(sum(back) == there.mine);
    RC_ASSERT(difference(mine, theirs, estimated).fields.size() == there.fields.size());
  }));
}

}  // namespace
}  // namespace trainyard
