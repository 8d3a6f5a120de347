// Tests the energy of whole plans: what views show for each rank sums to the result, and the closed
// form and the simulator agree.
#include <gtest/gtest.h>

#include <cmath>

#include "app/workspace/comparison/comparison.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "visualizers/energy/energy_view.h"

namespace trainyard {
namespace {

const char* const kPlans[] = {
    "tp=8",
    "pp=4 global-batch=32",
    "pp=4 global-batch=32 schedule=zb-h1",
    "pp=4 tp=2 global-batch=64 recompute=full",
    "zero=3 global-batch=32",
    "pp=2 virtual-stages=2 schedule=interleaved global-batch=32 offload=optimizer",
    "zero=1 micro-batch=4 global-batch=128"};

ExperimentPtr simulated(const char* plan) {
  return open_compared(plan, {"llama-3-8b", "h100-sxm:8", "", {}}).experiment;
}

TEST(EnergyOfPlans, RanksSumToTheResult) {
  for (const char* plan : kPlans) {
    const ExperimentPtr e = simulated(plan);
    ASSERT_TRUE(e->result.energy) << plan;
    const EnergyModel model = energy_model(*e);
    double sum = 0, time = 0;
    for (std::size_t rank = 0; rank < model.ranks.size(); ++rank)
      for (const EnergyPart& part : energy_parts(model, rank)) {
        sum += part.energy.value;
        time += to_seconds(part.time) * static_cast<double>(model.replicas);
      }
    const double energy = e->result.energy->value.value;
    EXPECT_NEAR(sum, energy, 1e-6 * energy) << plan;
    // All of each device's time has a state.
    EXPECT_NEAR(time, to_seconds(e->result.step.value) * 8, 1e-6 * time) << plan;
  }
}

TEST(EnergyOfPlans, MeanPowerLiesBetweenIdleAndBoardPower) {
  for (const char* plan : kPlans) {
    const ExperimentPtr e = simulated(plan);
    const Result& result = e->result;
    EXPECT_GT(mean_draw(result), result.power->idle.value) << plan;
    EXPECT_LT(mean_draw(result).value, 700) << plan;
    EXPECT_LT(result.energy->low, result.energy->value) << plan;
    EXPECT_GT(result.energy->high, result.energy->value) << plan;
  }
}

TEST(EnergyOfPlans, AShorterBubbleAtEqualWorkDrawsMoreAndCostsLess) {
  const Result long_bubble = simulated("pp=8 global-batch=16 schedule=gpipe")->result,
               short_bubble = simulated("pp=8 global-batch=16 schedule=zb-h1")->result;
  ASSERT_LT(short_bubble.bubble_fraction, long_bubble.bubble_fraction);
  EXPECT_NEAR(short_bubble.hardware_flops / long_bubble.hardware_flops, 1, 1e-9);
  EXPECT_GT(mean_draw(short_bubble), mean_draw(long_bubble));
  EXPECT_LT(short_bubble.energy->value, long_bubble.energy->value);
}

TEST(EnergyOfPlans, ClosedFormAndSimulatorAgree) {
  for (const char* plan : kPlans) {
    const ExperimentPtr e = simulated(plan);
    const auto cost = physical_cost_model(e->workload.scenario);
    const Result closed = estimate(e->workload, *cost);
    EXPECT_NEAR(closed.energy->value / e->result.energy->value, 1, 0.06) << plan;
    const double ranks = e->workload.scenario.plan.mesh.pp;
    EXPECT_NEAR(device_time(closed.device_time).total(), to_seconds(closed.step.value) * ranks,
                1e-6 * ranks * to_seconds(closed.step.value))
        << plan;
  }
}

}  // namespace
}  // namespace trainyard
