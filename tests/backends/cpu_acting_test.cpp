// Tests training on what the model itself does, and who refuses to.
#include <gtest/gtest.h>

#include "backends/cpu/execution/evaluation.h"
#include "backends/reference/reference_backend.h"
#include "core/model/zoo/zoo.h"
#include "core/training/data/data_sources.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

CpuRun learnt_to_balance(std::int64_t devices, Settings settings, std::int64_t steps,
                         std::uint64_t seed = 1, const CpuOptions& options = {}) {
  Training training;
  training.rate = 0.003;
  training.steps = steps;
  training.seed = seed;
  settings.insert(settings.end(), {"global-batch=64", "optimizer=adam"});
  return testing::train_on_cpu(zoo_model("cartpole-q"), devices, settings, training, options,
                               *cart_pole_data(seed));
}

TEST(CpuActing, TheSameSeedGivesTheSameBitsAndAnotherDoesNot) {
  const CpuRun a = learnt_to_balance(1, {}, 20), b = learnt_to_balance(1, {}, 20),
               c = learnt_to_balance(1, {}, 20, 2);
  EXPECT_EQ(testing::non_empty(a.run.losses), b.run.losses);
  EXPECT_NE(a.run.losses, c.run.losses);
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    EXPECT_EQ(a.parameters[i].values, b.parameters[i].values);
}

TEST(CpuActing, EveryLayoutTrainsAsOneDevice) {
  const CpuRun alone = learnt_to_balance(1, {}, 40);
  for (const Settings& settings :
       {Settings{"dp=2"}, {"pp=2", "micro-batch=16"}, {"tp=2"}, {"dp=2", "zero=3"}}) {
    const CpuRun divided = learnt_to_balance(2, settings, 40);
    ASSERT_EQ(divided.run.losses.size(), 40) << settings[0];
    for (std::size_t i = 0; i < 40; ++i)
      EXPECT_NEAR(divided.run.losses[i], alone.run.losses[i], 1e-5) << settings[0] << " step " << i;
  }
}

TEST(CpuActing, LearnsToKeepThePoleUpLonger) {
  const CpuRun run = learnt_to_balance(1, {}, 600);
  const auto data = cart_pole_data(1);
  const ModelEvaluation before = evaluate(run.workload, run.initial, *data, 0),
                        after = evaluate(run.workload, run.parameters, *data, 0);
  EXPECT_EQ(after.samples, 20);
  EXPECT_LT(before.mean_return.value(), 40);
  EXPECT_GT(after.mean_return.value(), 80);
}

TEST(CpuActing, WhatCannotActRefuses) {
  EXPECT_EQ(testing::refusal(
                [] { learnt_to_balance(2, {"pp=2", "micro-batch=16", "schedule=pipedream"}, 2); }),
            "plan#/choices: cart-pole acts with the newest parameters before each update, which an "
            "asynchronous schedule never has all at one moment; try schedule=1f1b");
  CpuOptions resumed;
  resumed.resume = true, resumed.checkpoint = "none";
  EXPECT_EQ(
      testing::refusal([&] { learnt_to_balance(1, {}, 2, 1, resumed); }),
      "--resume: expected a run from its beginning: a checkpoint does not hold what cart-pole "
      "remembers of the episodes before; try no --resume");
  const CpuRun run = learnt_to_balance(1, {}, 1);
  const Training training;
  const TaskPrices prices;
  const auto data = cart_pole_data(1);
  const Diagnostics found =
      ReferenceBackend::check({run.workload, run.program, prices, &training, data.get()});
  const bool said = std::any_of(found.begin(), found.end(), [](const Diagnostic& d) {
    return d.message ==
           "the reference executes all steps as one program, and cart-pole acts between two of "
           "them";
  });
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace trainyard
