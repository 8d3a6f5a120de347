#include "app/workspace/scenario/linked_degrees.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "app/workspace/scenario/workspace.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

Plan plan_of(int tp, int cp, int pp, int dp) {
  Plan plan;
  plan.mesh.tp = tp;
  plan.mesh.cp = cp;
  plan.mesh.pp = pp;
  plan.mesh.dp = dp;
  return plan;
}

TEST(LinkedDegrees, TheProductStaysRight) {
  EXPECT_TRUE(rc::check([] {
    const auto power = [] { return 1 << *rc::gen::inRange(0, 4); };
    const int tp = power(), cp = power(), pp = power(), dp = power();
    const std::int64_t devices = std::int64_t{tp} * cp * pp * dp;
    const char* keys[] = {"tp", "cp", "pp", "dp"};
    const char* key = keys[*rc::gen::inRange(0, 4)];
    const std::int64_t value = *rc::gen::inRange(1, 40);
    Plan plan = plan_of(tp, cp, pp, dp);
    try {
      for (const std::string& set : linked_degrees(plan, devices, key, value))
        apply_setting(plan, set);
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == Error::Kind::InvalidInput);
      return;
    }
    const Mesh& mesh = plan.mesh;
    RC_ASSERT(std::int64_t{mesh.tp} * mesh.cp * mesh.pp * *mesh.dp == devices);
    RC_ASSERT(setting(plan, key) == std::to_string(value));
  }));
}

TEST(LinkedDegrees, DataTakesWhatOthersLeaveAndPipelineGivesWhatDataAsks) {
  const Plan plan = plan_of(2, 1, 4, 8);
  EXPECT_EQ(linked_degrees(plan, 64, "tp", 4), (std::vector<std::string>{"tp=4", "dp=4"}));
  EXPECT_EQ(linked_degrees(plan, 64, "dp", 16), (std::vector<std::string>{"pp=2", "dp=16"}));
  EXPECT_EQ(linked_degrees(plan_of(8, 1, 1, 8), 64, "dp", 16),
            (std::vector<std::string>{"tp=4", "dp=16"}));
}

TEST(LinkedDegrees, WhatCannotBeIsASentence) {
  try {
    linked_degrees(plan_of(2, 1, 4, 8), 64, "tp", 3);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(describe(error),
              "--set tp: expected degrees whose product divides the 64 devices, found tp x cp x pp "
              "= 12");
  }
}

}  // namespace
}  // namespace trainyard
