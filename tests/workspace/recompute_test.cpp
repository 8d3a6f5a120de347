// recompute=optimal becomes explicit where a scenario is opened.
#include "app/workspace/scenario/recompute.h"

#include <gtest/gtest.h>

#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/plan_json.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

TEST(RecomputeWords, AreTakenOutOfTheOthers) {
  EXPECT_EQ(split_recompute_words("tp=2 recompute=optimal pp=2").others, "tp=2 pp=2");
  EXPECT_TRUE(split_recompute_words("recompute=optimal").optimal);
  EXPECT_TRUE(split_recompute_words("activation-checkpointing=optimal").optimal);
  const RecomputeWords last = split_recompute_words("recompute=optimal recompute=full");
  EXPECT_FALSE(last.optimal);
  EXPECT_EQ(last.others, "recompute=full");
  EXPECT_FALSE(split_recompute_words("tp=2").said);
}

TEST(RecomputeWords, ABudgetIsAPositiveNumberOfBytes) {
  EXPECT_EQ(split_recompute_words("recompute=optimal:20GiB").budget, 20_GiB);
  EXPECT_FALSE(split_recompute_words("recompute=optimal:20GiB recompute=optimal").budget);
  for (const auto& [word, sentence] :
       {std::pair{"0B", "expected a budget above 0 B, such as optimal:20GiB, found 0B"},
        {"much", "\"much\""}}) {
    try {
      split_recompute_words(std::string("recompute=optimal:") + word);
      ADD_FAILURE() << word;
    } catch (const Error& e) {
      EXPECT_NE(describe(e).find(sentence), std::string::npos) << describe(e);
      EXPECT_NE(describe(e).find("--set recompute"), std::string::npos) << describe(e);
    }
  }
}

Request gpt_on_eight(std::vector<std::string> more) {
  Request r{"gpt3-6.7b", "a100-sxm-80:8", "", {"pp=4", "tp=2", "micro-batch=4", "global-batch=64"}};
  r.settings.insert(r.settings.end(), more.begin(), more.end());
  return r;
}

TEST(OptimalRecompute, IsExplicitFitsAndIsNoSlowerThanAnyPolicyThatFits) {
  const Scenario scenario = open(gpt_on_eight({"recompute=optimal"}));
  const std::string text = setting(scenario.plan, "recompute");
  EXPECT_NE(text, "optimal");
  EXPECT_EQ(text.find("optimal"), std::string::npos);
  const auto run = run_once(scenario, {});
  EXPECT_TRUE(run->result.verdict.fits) << text;
  // The plan read from a file opens the same way.
  const Plan read = parse_plan(plan_document(scenario.plan), "plan.json");
  EXPECT_EQ(setting(read, "recompute"), text);
  for (const char* policy : {"none", "selective", "op", "full"}) {
    const Scenario other = open(gpt_on_eight({std::string("recompute=") + policy}));
    const auto there = run_once(other, {});
    if (!there->result.verdict.fits) continue;
    EXPECT_LE(estimate(scenario).step.value, estimate(other).step.value) << policy << " " << text;
  }
}

TEST(OptimalRecompute, ALargerBudgetIsNeverSlowerAndEachIsKept) {
  Duration before = Duration::max();
  int compared = 0;
  for (const int gib : {24, 30, 40, 60, 80}) {
    Scenario scenario;
    try {
      scenario = open(gpt_on_eight({"recompute=optimal:" + std::to_string(gib) + "GiB"}));
    } catch (const Error&) {
      EXPECT_EQ(compared, 0) << "a larger budget than one that was enough is refused";
      continue;
    }
    const auto run = run_once(scenario, {});
    const Bytes held = scenario.cluster.device.memory.value - run->result.verdict.margin;
    EXPECT_LE(held, Bytes{gib * (1_GiB).value}) << gib;
    const Duration step = estimate(scenario).step.value;
    EXPECT_LE(step, before) << gib;
    before = step;
    ++compared;
  }
  EXPECT_GE(compared, 3);
}

TEST(OptimalRecompute, TheLastWordCounts) {
  EXPECT_EQ(setting(open(gpt_on_eight({"recompute=optimal", "recompute=full"})).plan, "recompute"),
            "full");
}

TEST(OptimalRecompute, SaysByHowMuchTheLeastIsOver) {
  try {
    open({"llama-3-70b", "a100-sxm-80:1", "", {"recompute=optimal"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("no recomputation fits: the plan of least memory"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace trainyard
