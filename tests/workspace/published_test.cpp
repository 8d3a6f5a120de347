#include "app/workspace/scenario/published.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// A row of a plan small enough to be simulated at once, with something left open.
const PreparedRow& some_row() {
  for (const PreparedRow& row : published_set().rows)
    if (row.metric == RowMetric::StepTime && !row.assumptions.empty() &&
        row.workload.scenario.cluster.count <= 64)
      return row;
  throw std::logic_error("no such row ships");
}

std::string refusal(const Request& request) {
  try {
    open(request);
  } catch (const Error& error) {
    return describe(error);
  }
  return "";
}

TEST(Published, ARowIsOpenedAsModelClusterAndPlan) {
  const PreparedRow& row = some_row();
  const std::string word = published_word(row.row.id);
  EXPECT_EQ(published_id(word), row.row.id);
  const Scenario opened = open({word, word, word, {}});
  EXPECT_EQ(opened.cluster, row.workload.scenario.cluster);
  EXPECT_EQ(parameters(opened.model), parameters(row.workload.scenario.model));
  EXPECT_EQ(complete(opened), row.workload.scenario.plan);
  for (const std::string& sentence : testing::non_empty(assumed_sentences(row)))
    EXPECT_NE(std::find(opened.model.assumed.begin(), opened.model.assumed.end(), sentence),
              opened.model.assumed.end())
        << sentence;
}

TEST(Published, AMicroBatchThatTheRowStatesIsGiven) {
  for (const PreparedRow& row : testing::non_empty(published_set().rows)) {
    const std::string word = published_word(row.row.id);
    EXPECT_EQ(gives_micro_batch({word, word, word, {}}),
              std::none_of(row.assumptions.begin(), row.assumptions.end(),
                           [](const Assumption& a) { return a.setting == "micro-batch"; }))
        << word;
  }
}

// There is only one way from a row to a scenario: the estimate of the opened scenario equals the
// prediction for the row, including frozen weights and masked heads.
TEST(Published, WhatIsOpenedCostsWhatWasPredicted) {
  for (const PreparedRow& row : testing::non_empty(published_set().rows)) {
    const std::string word = published_word(row.row.id);
    const PlanCost opened = estimated_cost(open({word, word, word, {}}));
    const StepEstimate held = predict_whole(row, {});
    EXPECT_NEAR(to_seconds(opened.step) / to_seconds(held.step), 1, 1e-9) << word;
  }
}

TEST(Published, PartsOfARowServeOtherPlans) {
  const std::string word = published_word(some_row().row.id);
  const Scenario mixed = open({"llama-3-8b", word, "", {"tp=2"}});
  EXPECT_EQ(mixed.model.name, "llama-3-8b");
  EXPECT_EQ(mixed.cluster.count, some_row().workload.scenario.cluster.count);
  EXPECT_EQ(mixed.plan.mesh.tp, 2);
}

TEST(Published, WhatIsNoRowIsSaid) {
  std::string near = some_row().row.id;
  near.back() = near.back() == '7' ? '8' : '7';
  near += "x";
  const std::string word = published_word(near);
  const std::string said = refusal({word, word, word, {}});
  EXPECT_NE(said.find("there is no published row \"" + near + "\"; did you mean"),
            std::string::npos)
      << said;
  ASSERT_FALSE(published_set().skipped.empty());
  const SkippedRow& skipped = published_set().skipped.front();
  const std::string other = published_word(skipped.row.id);
  EXPECT_NE(refusal({other, other, other, {}}).find(skipped.reason), std::string::npos);
}

TEST(Published, OtherWordsAreNoRows) {
  EXPECT_FALSE(published_id("llama-3-8b"));
  EXPECT_FALSE(published_id("a100-sxm-80:8"));
  EXPECT_FALSE(published_id("./published/a.json"));
}

}  // namespace
}  // namespace trainyard
