// Tests that operator-stages=concurrent is replaced by stages that are never slower, and that every
// road to their time agrees.
#include "app/workspace/scenario/concurrent_operators.h"

#include <gtest/gtest.h>

#include <string>

#include "app/workspace/scenario/workspace.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"
#include "core/methods/parallel/operator_stages.h"
#include "core/methods/settings/settings.h"
#include "visualizers/model/layer_view.h"

namespace trainyard {
namespace {

Scenario opened(const std::string& model, const std::string& more) {
  return open({model, "cpu:1", "", {"precision=fp32 global-batch=4 micro-batch=2 " + more}});
}

const char* const kModels[] = {"inception-tiny", "neox-tiny", "mixtral-tiny", "mlp-small"};

TEST(ConcurrentOperators, AreStatedByThePlanThatIsOpened) {
  const Scenario s = opened("inception-tiny", "operator-stages=concurrent");
  EXPECT_FALSE(asks_for_stages(s.plan));
  const std::string text = setting(s.plan, kOperatorStages);
  EXPECT_EQ(to_text(parse_operator_stages(text, {})), text);
  EXPECT_EQ(cores_of_device(s.plan), 2);
  // Opening the plan's own words gives the plan again.
  EXPECT_EQ(setting(opened("inception-tiny", "operator-stages=" + text).plan, kOperatorStages),
            text);
}

TEST(ConcurrentOperators, UseAsManyCoresAsThePlanSays) {
  const Scenario s = opened("inception-tiny", "operator-stages.cores=4 operator-stages=concurrent");
  EXPECT_GT(cores_of_device(s.plan), 2);
  EXPECT_LE(cores_of_device(s.plan), 4);
}

// A stage takes as long as its longest core, so that they never make a step longer; what overlaps
// is held together, so that memory never falls below.
TEST(ConcurrentOperators, TakeNoLongerAndHoldNoLess) {
  for (const char* model : kModels) {
    SCOPED_TRACE(model);
    const ExperimentPtr plain = simulate(opened(model, ""), {.fixes = false}),
                        staged =
                            simulate(opened(model, "operator-stages=concurrent"), {.fixes = false});
    EXPECT_LT(staged->result.step.value, plain->result.step.value);
    EXPECT_GE(staged->result.verdict.margin.value, 0);
    EXPECT_LE(staged->result.verdict.margin, plain->result.verdict.margin);
    EXPECT_DOUBLE_EQ(staged->result.peak_flops.value, 2 * plain->result.peak_flops.value);
    EXPECT_DOUBLE_EQ(staged->result.model_flops.value, plain->result.model_flops.value);
  }
}

// The window's bars of layers are the step without its update.
TEST(ConcurrentOperators, AreAsLongInTheBarsOfTheirLayers) {
  const Scenario s = opened("inception-tiny", "global-batch=2 operator-stages=concurrent");
  const ExperimentPtr run = simulate(s, {.grain = Grain::Op, .fixes = false});
  Duration bars{};
  for (const LayerBar& bar : layer_model(run->workload, *physical_cost_model(s)).bars)
    bars += bar.forward + bar.backward + bar.weight;
  EXPECT_GT(bars.count(), 0.98 * static_cast<double>(run->result.step.value.count()));
  EXPECT_LE(bars, run->result.step.value);
}

TEST(ConcurrentOperators, HaveOneTimeAtBothGrainsAndInTheClosedForm) {
  for (const char* model : kModels) {
    SCOPED_TRACE(model);
    const Scenario s = opened(model, "operator-stages=concurrent");
    const ExperimentPtr by_order = simulate(s, {.grain = Grain::Order, .fixes = false}),
                        by_op = simulate(s, {.grain = Grain::Op, .fixes = false});
    EXPECT_EQ(by_order->result.step.value, by_op->result.step.value);
    const Workload w = prepare(s);
    EXPECT_EQ(estimate(w, *physical_cost_model(s)).step.value, by_order->result.step.value);
  }
}

}  // namespace
}  // namespace trainyard
