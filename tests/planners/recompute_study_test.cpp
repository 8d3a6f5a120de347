// What the comparison of recomputation methods says: nothing undercuts the optimum, and the layer's
// graph takes as long as the sets of kept nodes say.
#include "planners/recompute/recompute_study.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/workspace/scenario/workspace.h"
#include "core/estimate/assumptions.h"
#include "planners/recompute/layer_graph.h"
#include "planners/recompute/recompute_layer.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

RecomputeStudy studied(const std::string& model, const std::string& settings) {
  const Scenario scenario = open({model, "h100-sxm:8", "", {settings}});
  return study_recomputation(scenario, *cost_model(scenario));
}

const RecomputeStudy& staged() {
  static const RecomputeStudy study =
      studied("resnet-20", "pp=2 split=5,4 global-batch=64 micro-batch=4");
  return study;
}
const RecomputeStudy& residual() {
  static const RecomputeStudy study = studied("resnet-20", "pp=1 global-batch=64 micro-batch=4");
  return study;
}

TEST(RecomputeStudy, NoRuleUndercutsTheOptimumOfItsMemory) {
  for (const RecomputeStudy* study : {&staged(), &residual()}) {
    int rules = 0;
    for (const RecomputeTrade& rule : testing::non_empty(study->chain)) {
      if (rule.method != "sqrt n" && rule.method != "revolve") continue;
      ++rules;
      EXPECT_TRUE(std::any_of(study->chain.begin(), study->chain.end(),
                              [&](const RecomputeTrade& best) {
                                return best.optimal.value_or(false) && best.peak <= rule.peak &&
                                       best.time <= rule.time;
                              }))
          << rule.method << " with " << rule.words;
    }
    EXPECT_GE(rules, 3);
  }
}

TEST(RecomputeStudy, MoreMemoryIsNeverSlowerForTheOptimum) {
  for (const RecomputeStudy* study : {&staged(), &residual()}) {
    const RecomputeTrade* before = nullptr;
    int compared = 0;
    for (const RecomputeTrade& trade : testing::non_empty(study->chain)) {
      if (!trade.optimal) continue;
      if (before != nullptr) {
        EXPECT_LE(trade.time, before->time) << trade.words;
        ++compared;
      }
      before = &trade;
    }
    EXPECT_GE(compared, 1);
  }
}

TEST(RecomputeStudy, TheLastKeepsEverythingAndTakesLeast) {
  for (const RecomputeStudy* study : {&staged(), &residual()})
    for (const std::vector<RecomputeTrade>* list : {&study->chain, &study->layer}) {
      ASSERT_GE(list->size(), 4u);
      EXPECT_EQ(list->back().method, "keep everything");
      for (const RecomputeTrade& trade : testing::non_empty(*list)) {
        EXPECT_LE(trade.kept, list->back().kept) << trade.method << " " << trade.words;
        EXPECT_LE(trade.peak, list->back().peak) << trade.method << " " << trade.words;
        EXPECT_GE(trade.time, list->back().time) << trade.method << " " << trade.words;
      }
    }
}

TEST(RecomputeStudy, TheIntegerProgramKeepsItsPeakAndKeptSetsDoNot) {
  int programs = 0;
  for (const RecomputeStudy* study : {&staged(), &residual()})
    for (const RecomputeTrade& trade : testing::non_empty(study->layer))
      if (trade.method == "integer program") {
        EXPECT_LT(trade.peak, study->layer.back().peak);
        ++programs;
      } else {
        EXPECT_EQ(trade.peak, study->layer.back().peak);
      }
  EXPECT_GE(programs, 3);
}

// The two roads to what a kept set costs: its own sums, and a schedule on the graph of ops.
TEST(LayerGraph, RunsAgainWhatTheKeptSetSays) {
  for (const std::string model : {"gpt-tiny", "resnet-20", "llama-3-8b", "mixtral-8x7b"}) {
    const Scenario scenario = open({model, "h100-sxm:8", "", {"global-batch=64 recompute=none"}});
    const Workload w = prepare(scenario);
    const auto cost = cost_model(scenario);
    for (const Body& body : testing::non_empty(w.bodies)) {
      if (!scenario.model.blocks[static_cast<std::size_t>(body.block)].layer) continue;
      const LayerGraph layer = layer_graph(w, body, *cost);
      std::vector<int> all(static_cast<std::size_t>(layer.forwards));
      for (int n = 0; n < layer.forwards; ++n) all[static_cast<std::size_t>(n)] = n;
      const GraphRun whole = run_graph(layer.graph, keep_schedule(layer, all));
      const std::vector<KeptSet> sets = kept_sets(layer_nodes(w, body, *cost));
      ASSERT_GE(sets.size(), 2u);
      for (const KeptSet& set : testing::non_empty(sets)) {
        const std::vector<GraphAction> actions = keep_schedule(layer, set.nodes);
        EXPECT_EQ(run_graph(layer.graph, actions).time - whole.time, set.time) << model;
        EXPECT_GE(kept_for_backward(layer, actions), body.input + set.bytes) << model;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard
