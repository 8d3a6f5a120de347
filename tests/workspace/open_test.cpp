// Tests how opening interprets the words of a request.
#include <gtest/gtest.h>

#include <numeric>

#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/plan/balanced.h"

namespace trainyard {
namespace {

Scenario opened(std::vector<std::string> settings) {
  return open({.model = "llama-2-13b",
               .cluster = "a100-sxm-80:64",
               .plan = "",
               .settings = std::move(settings)});
}

std::string refused(std::vector<std::string> settings) {
  try {
    opened(std::move(settings));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Wherever it stands among the settings.
TEST(Open, WorksOutABalancedSplit) {
  const Scenario s = opened({"split=balanced", "pp=16"});
  EXPECT_FALSE(is_balanced_later(s.plan.split));
  EXPECT_EQ(s.plan.split.layers.size(), 16u);
  EXPECT_EQ(std::accumulate(s.plan.split.layers.begin(), s.plan.split.layers.end(), 0), 40);
  EXPECT_FALSE(has_errors(check(s)));
  EXPECT_EQ(opened({"pp=16", "stage-split=balanced"}).plan.split, s.plan.split);
  EXPECT_EQ(opened({"pp=16", "split=balanced", "split=even"}).plan.split, StageSplit{});
  EXPECT_EQ(estimate(s).verdict.fits, true);
}

TEST(Open, SaysWhyNothingCanBeBalanced) {
  EXPECT_NE(refused({"pp=64", "split=balanced"}).find("40 layers cannot fill 64 stages"),
            std::string::npos);
  EXPECT_NE(refused({"pp=3", "split=balanced"}).find("divide"), std::string::npos);
  EXPECT_EQ(refused({"pp=16"}), "");  // that is check()'s to say
}

TEST(Open, APartOfAScenarioKeepsItsWord) {
  EXPECT_TRUE(is_balanced_later(
      open_named(
          {.model = "llama-2-13b", .cluster = "", .plan = "", .settings = {"split=balanced"}})
          .plan.split));
}

}  // namespace
}  // namespace trainyard
