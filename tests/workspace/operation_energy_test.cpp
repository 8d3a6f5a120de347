// Tests the energy of whole plans by operation and memory level, and by what devices do.
#include "core/result/operation_energy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/result_json.h"
#include "core/io/json/json.h"
#include "core/lowering/lower.h"
#include "core/result/carbon.h"
#include "core/result/figures.h"
#include "core/result/step_calls.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Scenario asked(const char* cluster, std::vector<std::string> settings) {
  return open({"gpt2", cluster, "", std::move(settings)});
}

Joules sum_of(const Scenario& scenario) {
  return total(operation_energies(prepare(scenario))).total();
}

// Each product of one layer by the formula of its m, n and k.
TEST(OperationEnergy, IsTheSumOverAllCallsOfAllDevices) {
  const Workload workload = prepare(asked("h100-sxm:4", {"dp=4", "global-batch=8"}));
  double by_hand = 0;
  std::int64_t products = 0;
  visit_calls(workload, 0, [&](const BodyOp& op, std::int64_t calls) {
    if (op.communication) return;
    by_hand +=
        4 * static_cast<double>(calls) * work_energy(op.work, kTiledForRegisters).total().value;
    products += op.work.kind == WorkKind::Product ? calls : 0;
  });
  EXPECT_GT(products, 0);
  const std::vector<OperationEnergy> all = operation_energies(workload);
  EXPECT_NEAR(total(all).total().value, by_hand, 1e-9 * by_hand);
  for (std::size_t i = 0; i + 1 < testing::non_empty(all).size(); ++i)
    EXPECT_GE(all[i].energy.total(), all[i + 1].energy.total());
}

TEST(OperationEnergy, NarrowerFormatsTakeLess) {
  const auto with = [](const char* precision) {
    return sum_of(asked("h100-sxm:1", {std::string("precision=") + precision, "global-batch=4"}));
  };
  EXPECT_LT(with("bf16"), with("fp32"));
}

// Levels inside the chip hold numbers as they are.
TEST(OperationEnergy, AMemoryThatStoresInHalfTheBytesTakesHalfTheEnergy) {
  const auto of = [](const char* cluster) {
    return total(operation_energies(prepare(asked(cluster, {"global-batch=4"}))));
  };
  const WorkEnergy plain = of("h100-sxm:1"), packed = of("h100-sxm:1,compression=0.5");
  EXPECT_EQ(packed.arithmetic, plain.arithmetic);
  ASSERT_EQ(packed.levels.size(), 3u);
  for (std::size_t level = 0; level < 3; ++level) {
    const double share = plain.levels[level].level == EnergyItem::Dram ? 0.5 : 1;
    EXPECT_NEAR(packed.levels[level].energy / plain.levels[level].energy, share, 1e-12);
  }
  EXPECT_LT(dram_share(packed), dram_share(plain));
}

TEST(OperationEnergy, RecomputingTakesMoreAndTheScheduleChangesNothing) {
  const double plain =
      sum_of(asked("h100-sxm:4", {"pp=4", "global-batch=16", "schedule=gpipe"})).value;
  const double other =
      sum_of(asked("h100-sxm:4", {"pp=4", "global-batch=16", "schedule=1f1b"})).value;
  EXPECT_NEAR(other / plain, 1, 1e-9);
  EXPECT_GT(sum_of(asked("h100-sxm:4", {"pp=4", "global-batch=16", "recompute=full"})).value,
            1.05 * other);
}

TEST(StepEnergy, PartsOfClosedFormAndSimulatorAddUp) {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
    const Scenario scenario = asked(
        "h100-sxm:8", {"pp=4", "dp=2", "global-batch=16", std::string("schedule=") + schedule});
    for (const Result& r : {simulate(scenario, {.fixes = false})->result, estimate(scenario)}) {
      const std::optional<EnergyParts> parts = energy_parts(r);
      ASSERT_TRUE(parts && r.energy);
      const double sum = parts->working().value.value + parts->idle.value.value;
      EXPECT_NEAR(sum / r.energy->value.value, 1, 1e-6) << schedule << " " << r.fidelity;
      EXPECT_NEAR(parts->at_board.value, 8 * 700 * to_seconds(r.step.value), 1e-3);
      EXPECT_LT(r.energy->value.value, parts->at_board.value);
    }
  }
}

TEST(StepEnergy, ALongerBubbleTakesMoreWhileWaiting) {
  const auto waiting = [](const char* schedule) {
    const Result r =
        simulate(
            asked("h100-sxm:4", {"pp=4", "global-batch=8", std::string("schedule=") + schedule}),
            {.fixes = false})
            ->result;
    return std::pair(r.bubble_fraction, energy_parts(r)->idle.value.value);
  };
  const auto longer = waiting("gpipe"), shorter = waiting("zb-h1");
  ASSERT_GT(longer.first, shorter.first);
  EXPECT_GT(longer.second, shorter.second);
}

TEST(StepEnergy, DocumentsStatePartsSiteAndOperations) {
  const Scenario scenario = asked("h100-sxm:8,region=sweden,pue=1.1", {"dp=8", "global-batch=16"});
  Result result = estimate(scenario);
  result.operations = operation_energies(prepare(scenario));
  const Json document = parse_json(result_document(result), "result");
  const auto number = [](const Json* value) {
    return value->real() != nullptr ? *value->real() : static_cast<double>(*value->integer());
  };
  const Json* site = document.find("site");
  ASSERT_NE(site, nullptr);
  const double energy = number(document.find("energy_joules")->find("value"));
  EXPECT_NEAR(number(site->find("energy_joules")->find("value")), 1.1 * energy, 1e-9 * energy);
  EXPECT_NEAR(number(site->find("carbon_kg")->find("value")), 1.1 * energy / 3.6e6 * 0.0407,
              1e-9 * energy);
  EXPECT_NE(document.find("energy_parts_joules")->find("waiting"), nullptr);
  EXPECT_NEAR(number(document.find("operation_energy")->find("all")->find("joules")),
              total(result.operations).total().value, 1e-6 * energy);
  EXPECT_EQ(
      parse_json(result_document(estimate(asked("h100-sxm:8", {"dp=8"}))), "result").find("site"),
      nullptr);
}

}  // namespace
}  // namespace trainyard
