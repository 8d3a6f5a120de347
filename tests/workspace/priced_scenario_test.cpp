// Tests scenarios with measured prices.
#include "app/workspace/scenario/priced_scenario.h"

#include <gtest/gtest.h>

#include "app/workspace/runs/machine_calibration.h"
#include "core/lowering/lower.h"
#include "core/validation/local_band.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

constexpr const char* kModel = "mlp-small";
const std::vector<std::string> kPlan = {"global-batch=16", "precision=fp32"};

// Every kernel of the plan takes a millisecond.
Calibration slow_machine() {
  Calibration c;
  c.machine = "a slow machine, 2 cores";
  const auto add = [&](const Work& work) {
    c.kernels.push_back({.work = work, .time = 1ms, .spread = 0, .repeats = 3});
  };
  for (const Workload& workload : local_workloads({kModel, "cpu:1", "", kPlan}))
    for (const Body& body : workload.bodies)
      for (const auto& ops : {body.forward, body.backward})
        for (const BodyOp& op : ops)
          if (!op.communication) add(op.work);
  c.copy = {1us, {10e9}}, c.reduce = {10e9};
  c.residual_median = 0.01, c.residual_worst = 0.03;
  return c;
}

TEST(PricedScenario, AMeasuredMachinePricesItsOwnCores) {
  const std::string word = measured_prices_word(slow_machine());
  const PricedScenario own = open_priced({kModel, "cpu:1", "", kPlan});
  const PricedScenario priced = open_priced({kModel, "cpu:1", "", kPlan, word});
  EXPECT_EQ(own.cost, nullptr);
  ASSERT_NE(priced.cost, nullptr);
  EXPECT_EQ(priced.by, "a slow machine, 2 cores");
  const Result before = simulate(own.scenario)->result;
  const Result after = simulate(priced.scenario, {.cost = priced.cost.get()})->result;
  EXPECT_GT(after.step.value, before.step.value);
  // All but the update is measured, whose own check is no reason to be surer than runs have been.
  EXPECT_NEAR(to_seconds(after.step.high) / to_seconds(after.step.value),
              price_range(PricedBy::Measurement).high, 0.002);
}

TEST(PricedScenario, AndSaysNothingOfOthers) {
  const std::string word = measured_prices_word(slow_machine());
  const PricedScenario priced = open_priced({kModel, "h100-sxm:8", "", kPlan, word});
  EXPECT_EQ(priced.cost, nullptr);
  EXPECT_EQ(priced.by, "");
  EXPECT_EQ(priced.why_not,
            "it is of this machine's own cores, as cpu:8, and the cluster is h100-sxm:8");
  EXPECT_EQ(calibration_for(word, "h100-sxm:8"), "");
  EXPECT_EQ(calibration_for(word, "cpu:2"), word);
}

TEST(PricedScenario, AProfilePricesEveryCluster) {
  ParameterProfile profile;
  profile.rows = "mine.csv: 3 rows in 1 group";
  const std::string word = measured_prices_word(profile);
  const PricedScenario priced = open_priced({"gpt2", "h100-sxm:8", "", {}, word});
  ASSERT_NE(priced.cost, nullptr);
  EXPECT_EQ(priced.by, profile.rows);
}

TEST(MachineResiduals, HoldEveryKernelAgainstWhatIsPredicted) {
  const Calibration c = slow_machine();
  const KernelResiduals found = machine_residuals(c);
  EXPECT_EQ(found.kernels.size(), c.kernels.size());
  EXPECT_EQ(found.before.points, c.kernels.size());
  for (const KernelResidual& one : testing::non_empty(found.kernels)) {
    EXPECT_EQ(one.measured, 1ms);
    EXPECT_GT(one.before.count(), 0);
  }
}

}  // namespace
}  // namespace trainyard
