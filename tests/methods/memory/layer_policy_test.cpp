// Tests the text of per-layer recomputation: both directions, by stage, and refusals.
#include "core/methods/memory/layer_policy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/io/documents/plan_json.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::scenario;
using Kind = LayerPolicy::Kind;

TEST(LayerPolicies, ReadAsTheyAreWritten) {
  for (const char* text :
       {"none", "selective", "op", "full", "keep=input", "keep=act", "keep=act+attention",
        "full*4,none", "full*4,none/full*2,none/none", "keep=act*3,op*2,full", "keep=a%2Fb%20c"})
    EXPECT_EQ(to_text(parse_policies(text, {})), text);
  for (const char* text : {"all", "none", "convolutions*2,none", "all*4,none/made=act+input"})
    EXPECT_EQ(to_text(parse_policies(text, {}, PolicyWords::Offload)), text);
  EXPECT_THROW(parse_policies("all", {}), Error);
  EXPECT_THROW(parse_policies("full", {}, PolicyWords::Offload), Error);
  const RecomputePolicies two = parse_policies("full*4,none/keep=b+a+b", {});
  ASSERT_EQ(two.stages.size(), 2u);
  EXPECT_EQ(two.stages[0], (StagePolicies{{{Kind::Full}, 4}, {{Kind::None}, 0}}));
  EXPECT_EQ(two.stages[1], (StagePolicies{{{Kind::Keep, {"a", "b"}}, 0}}));
  EXPECT_EQ(parse_policies("keep=a%2fb", {}).stages[0][0].policy.kept.front(), "a/b");
}

TEST(LayerPolicies, AnyNamesAndRunsRoundTrip) {
  EXPECT_TRUE(rc::check([] {
    RecomputePolicies policies;
    const int stages = *rc::gen::inRange(1, 4);
    for (int s = 0; s < stages; ++s) {
      StagePolicies runs;
      const int count = *rc::gen::inRange(1, 5);
      for (int r = 0; r < count; ++r) {
        PolicyRun run;
        run.policy.kind = static_cast<Kind>(*rc::gen::inRange(0, 5));
        if (run.policy.kind == Kind::Keep) {
          auto names = *rc::gen::container<std::set<std::string>>(
              rc::gen::nonEmpty(rc::gen::string<std::string>()));
          names.erase("input");
          run.policy.kept.assign(names.begin(), names.end());
        }
        run.layers = r + 1 < count ? *rc::gen::inRange(1, 50) : *rc::gen::inRange(0, 50);
        runs.push_back(run);
      }
      policies.stages.push_back(runs);
    }
    RC_ASSERT(parse_policies(to_text(policies), {}) == policies);
    // The text also works as a setting and in a plan file.
    Plan plan;
    apply_setting(plan, "recompute", to_text(policies));
    RC_ASSERT(policies_of(plan) == policies);
    RC_ASSERT(setting(plan, "recompute") == to_text(policies));
    RC_ASSERT(policies_of(parse_plan(plan_document(plan), "plan.json")) == policies);
  }));
}

TEST(LayerPolicies, AStageIsItsRunsCutToItsLayers) {
  const RecomputePolicies p = parse_policies("full*3,none/op", {});
  EXPECT_EQ(to_text(policies_of(p, 0, 5)), "full*3,none*2");
  EXPECT_EQ(to_text(policies_of(p, 0, 2)), "full*2");
  EXPECT_EQ(to_text(policies_of(p, 1, 5)), "op*5");
  EXPECT_EQ(to_text(policies_of(parse_policies("full*2", {}), 7, 5)), "full*2,none*3");
}

struct Refused {
  std::string_view text, message;
};

TEST(LayerPolicies, RefuseWithASentence) {
  for (const auto& [text, message] : {
           Refused{"full*4,nome",
                   "expected none, selective, op, full or keep=<nodes>, found \"nome\"; did you "
                   "mean \"none\"?"},
           {"full,none", "expected a count, as in full*4: only the last run takes what is left"},
           {"full*0,none",
            "expected a whole number of layers from 1 to 1000000 after *, found \"0\""},
           {"full*x", "expected a whole number of layers from 1 to 1000000 after *, found \"x\""},
           {"full*99999999999",
            "expected a whole number of layers from 1 to 1000000 after *, found \"99999999999\""},
           {"full*4,", "expected none, selective, op, full or keep=<nodes>, found \"\""},
           {"full/", "expected none, selective, op, full or keep=<nodes>, found \"\""},
           {"keep=", "expected names of nodes joined by +, as in keep=attention+act, found \"\""},
           {"keep=a+", "expected names of nodes joined by +, as in keep=attention+act, found \"\""},
           {"keep=a%2",
            "expected names of nodes joined by +, as in keep=attention+act, found \"a%2\""},
       }) {
    Plan plan;
    try {
      apply_setting(plan, "recompute", text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.what(), message) << text;
      EXPECT_EQ(e.place().text, "--set recompute") << text;
    }
  }
}

// "so many of each stage" is short for runs.
TEST(LayerPolicies, BlocksByStageAreRuns) {
  Plan plan;
  apply_setting(plan, "recompute=blocks=4,4,2,0");
  EXPECT_EQ(setting(plan, "recompute"), "full*4,none/full*4,none/full*2,none/none");
  apply_setting(plan, "recompute=blocks=3");
  EXPECT_EQ(setting(plan, "recompute"), "blocks=3");
  EXPECT_EQ(to_text(policies_of(plan)), "full*3,none");
}

std::string policy_refusal(const testing::Settings& settings) {
  const Diagnostics found = check_of("recompute", scenario(gpt(), 8, settings));
  return found.empty() ? "" : found[0].place.text + ": " + found[0].message;
}

TEST(LayerPolicies, AreCheckedAgainstStagesAndLayers) {
  EXPECT_EQ(policy_refusal({"pp=2", "recompute=full*2/full*1,none"}), "");
  EXPECT_EQ(policy_refusal({"pp=2", "recompute=full*3,none/none", "split=3,1"}), "");
  EXPECT_EQ(policy_refusal({"pp=2", "recompute=full*2,op*1"}),
            "plan#/choices/recompute: recompute=full*2,op*1 asks for more layers than a stage has "
            "(3 of 2)");
  EXPECT_EQ(policy_refusal({"pp=2", "recompute=none/full*3"}),
            "plan#/choices/recompute: recompute=full*3 asks for more layers than stage 1 has (3 of "
            "2)");
  EXPECT_EQ(policy_refusal({"pp=4", "recompute=none/full"}),
            "plan#/choices/recompute: recompute lists 2 stages, and the plan has 4");
  EXPECT_EQ(policy_refusal({"recompute=keep=atention"}),
            "plan#/choices/recompute: no layer of gpt has a node \"atention\"; did you mean "
            "\"attention\"?");
}

}  // namespace
}  // namespace trainyard
