// Tests scenarios with measured prices.
#include "app/workspace/scenario/priced_scenario.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "app/workspace/runs/machine_calibration.h"
#include "core/io/bytes/file_writer.h"
#include "core/lowering/lower.h"
#include "core/validation/bands.h"
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

// The file is read before the first plan, and by no plan: one that is gone since prices all of
// them.
TEST(PricedScenario, PlansOfAStudyReadMeasurementsOnce) {
  const std::string path = ::testing::TempDir() + "measured-once.json";
  write_file(path, measured_prices_word(slow_machine()));
  const auto prices = prices_of_plans(path), own = prices_of_plans("");
  Scenario scenario = open_priced({kModel, "cpu:1", "", kPlan}).scenario;
  const auto step_by = [&](const CostModel& cost) {
    return simulate(scenario, {.cost = &cost})->result.step.value;
  };
  Scenario calibrated = scenario;
  const Duration expected = step_by(*open_cost_model(path, calibrated));
  std::filesystem::remove(path);
  EXPECT_EQ(step_by(*prices(scenario)), expected);
  EXPECT_LT(step_by(*own(scenario)), expected);
  EXPECT_EQ(step_by(*own(scenario)), step_by(*cost_model(scenario)));
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

// One factor lengthens every step by itself, and leaves memory as it is.
TEST(PricedScenario, AFactorOfAFewRowsIsOnEveryStep) {
  ParameterProfile profile;
  profile.rows = "mine.csv: 2 rows in 1 group";
  profile.steps = StepFactor{1.25, 0.8};
  const std::string word = measured_prices_word(profile);
  for (const char* settings : {"tp=8", "pp=4", "zero-stage=3"}) {
    const std::vector<std::string> plan = {settings, "global-batch=64", "micro-batch=1"};
    const PricedScenario with = open_priced({"llama-3-8b", "h100-sxm:8", "", plan, word});
    const PricedScenario without = open_priced({"llama-3-8b", "h100-sxm:8", "", plan, ""});
    const auto predicted = [](const PricedScenario& priced) {
      return banded_estimate(prepare(priced.scenario), *priced.cost);
    };
    const std::unique_ptr<CostModel> plain = cost_model(without.scenario);
    const Result before = banded_estimate(prepare(without.scenario), *plain);
    const Result after = predicted(with);
    EXPECT_NEAR(to_seconds(after.step.value) / to_seconds(before.step.value), 1.25, 1e-4)
        << settings;
    EXPECT_EQ(after.memory.front().peak.value, before.memory.front().peak.value);
    const auto width = [](const Result& of) {
      return std::log(to_seconds(of.step.high) / to_seconds(of.step.low));
    };
    EXPECT_NEAR(width(after) / width(before), 0.8, 1e-3);
  }
}

// One factor is of the cluster on which it was measured: another one is priced as without it, with
// the wide band, and its answer says so.
TEST(PricedScenario, AFactorIsOfTheDevicesThatWereMeasured) {
  ParameterProfile profile;
  profile.rows = "mine.csv: 2 rows in 1 group";
  profile.devices = {"a100-sxm-80"};
  profile.steps = StepFactor{1.25, 0.8};
  const std::vector<std::string> plan = {"tp=8", "global-batch=64", "micro-batch=1"};
  const auto answer = [&](const char* cluster, bool measured) {
    Scenario s = open({"llama-3-8b", cluster, "", plan});
    const std::unique_ptr<CostModel> cost = measured ? priced_by(profile, s) : cost_model(s);
    return banded_estimate(prepare(s), *cost);
  };
  const Result plain = answer("h100-sxm:8", false), other = answer("h100-sxm:8", true);
  EXPECT_EQ(other.step.value, plain.step.value);
  EXPECT_EQ(other.step.low, plain.step.low);
  EXPECT_EQ(other.step.high, plain.step.high);
  const std::string words =
      "its one factor is of a100-sxm-80, and not of h100-sxm, which is priced without it";
  EXPECT_EQ(other.evidence->sentence, plain.evidence->sentence + "; of the calibration: " + words);
  const Result own = answer("a100-sxm-80:8", true), own_plain = answer("a100-sxm-80:8", false);
  EXPECT_NEAR(to_seconds(own.step.value) / to_seconds(own_plain.step.value), 1.25, 1e-4);
  EXPECT_EQ(own.evidence->sentence, own_plain.evidence->sentence);
  const PricedScenario opened =
      open_priced({"llama-3-8b", "h100-sxm:8", "", plan, measured_prices_word(profile)});
  EXPECT_EQ(opened.cost, nullptr);
  EXPECT_EQ(opened.why_not, words);
}

// Parameters price every cluster, because a row moves those that its device has a part in.
TEST(PricedScenario, ParametersOfAnotherDeviceAreSaidToBe) {
  ParameterProfile profile;
  profile.rows = "mine.csv: 9 rows in 1 group";
  profile.devices = {"a100-sxm-80"};
  Scenario s = open({"gpt2", "h100-sxm:8", "", {}});
  const std::unique_ptr<CostModel> cost = priced_by(profile, s);
  const Result found = banded_estimate(prepare(s), *cost);
  EXPECT_EQ(found.step.value, banded_estimate(prepare(s), *cost_model(s)).step.value);
  EXPECT_NE(found.evidence->sentence.find("its rows are of a100-sxm-80, and not of h100-sxm, which "
                                          "has only some of the fitted parameters in common with "
                                          "them"),
            std::string::npos)
      << found.evidence->sentence;
  EXPECT_EQ(why_not_priced(profile, s.cluster), "");
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

std::size_t kernels_of(const std::vector<Workload>& workloads) {
  std::set<KernelKey> different;
  for (const Workload& w : workloads)
    for (const Work& work : w.kernels) different.insert(kernel_key(work));
  return different.size();
}

TEST(RandomWorkloads, AreTheSameForASeedAndManyDifferentShapes) {
  const std::vector<Workload> some = random_workloads(12, 1), again = random_workloads(12, 1);
  ASSERT_EQ(some.size(), 12u);
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i].kernels, again[i].kernels);
  EXPECT_EQ(random_workloads(3, 1)[2].kernels, some[2].kernels) << "more networks follow the same";
  EXPECT_NE(random_workloads(1, 2)[0].kernels, some[0].kernels);
  EXPECT_GE(kernels_of(some), 200u);
  EXPECT_THROW(random_workloads(0, 1), std::invalid_argument);
}

}  // namespace
}  // namespace trainyard
