// The CPU backend trains by HALP: as one device does, as the reference does, in the bytes that are
// predicted, from a checkpoint to the same bits, and to a loss that a full gradient brings down.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>

#include "backends/anchored.h"
#include "backends/reference/reference_backend.h"
#include "core/methods/precision/tensor_state.h"
#include "core/model/zoo/builders.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::apart;
using testing::CpuRun;
using testing::expect_same_training;
using testing::Settings;
using testing::train_on_cpu;

Training halp_steps(std::int64_t steps) {
  Training training;
  training.rate = 0.05;
  training.steps = steps;
  return training;
}

Model halp_mlp() { return build_mlp({"halp mlp", 12, 24, 4, 5}); }

CpuRun by_halp(const Model& model, std::int64_t devices, const Settings& more,
               const Training& training, CpuOptions options = {}) {
  Settings all = {"global-batch=8", "optimizer=halp", "halp.mu=20", "halp.inner=3", "halp.pass=2"};
  all.insert(all.end(), more.begin(), more.end());
  return train_on_cpu(model, devices, all, training, std::move(options));
}

// Two rounds and the first steps of a third.
TEST(CpuHalp, EveryPlanTrainsAsOneDeviceDoes) {
  struct Case {
    std::int64_t devices;
    Settings settings;
    const char* micro;
  };
  const Case cases[] = {
      {2, {"dp=2"}, "micro-batch=2"},
      {2, {"pp=2"}, "micro-batch=1"},
      {2, {"pp=2", "virtual-stages=2", "schedule=interleaved"}, "micro-batch=1"},
      {2, {"pp=2", "schedule=zb-h1"}, "micro-batch=1"},
      {4, {"pp=2", "dp=2", "recompute=full"}, "micro-batch=1"},
  };
  for (const Case& c : testing::non_empty(cases)) {
    SCOPED_TRACE(c.settings.back());
    Settings settings = c.settings;
    settings.emplace_back(c.micro);
    Training training = halp_steps(13);
    training.weight_decay = 0.1;
    const CpuRun alone = by_halp(halp_mlp(), 1, {c.micro}, training);
    EXPECT_GT(apart(alone.initial, alone.parameters), 0.01);
    expect_same_training(by_halp(halp_mlp(), c.devices, settings, training), alone, 2e-4);
  }
}

TEST(CpuHalp, FamiliesTrainAsTheReferenceDoes) {
  const testing::SampleNumbers source;
  struct Case {
    Model model;
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {
      {halp_mlp(), 1, {"micro-batch=2"}},
      {halp_mlp(), 4, {"pp=2", "dp=2", "micro-batch=1", "schedule=zb-h1"}},
      {testing::tiny_transformer({.family = "llama"}), 2, {"dp=2", "micro-batch=1"}},
      {testing::tiny_transformer({.tied = true}), 1, {"micro-batch=2"}},
  };
  for (const Case& c : testing::non_empty(cases)) {
    SCOPED_TRACE(c.model.name);
    const Training training = halp_steps(9);
    const CpuRun fast = by_halp(c.model, c.devices, c.settings, training);
    const Scenario& s = fast.workload.scenario;
    const auto cost = roofline_cost_model();
    const TaskPrices prices = price(fast.program, s.plan.mesh, s.cluster, *cost);
    ReferenceBackend exact({fast.workload, fast.program, prices, &training, &source});
    const BackendRun run = exact.run({});
    ASSERT_EQ(run.losses.size(), fast.run.losses.size());
    for (std::size_t i = 0; i < run.losses.size(); ++i)
      EXPECT_NEAR(run.losses[i], fast.run.losses[i], 1e-4 * run.losses[i]) << i;
    EXPECT_LT(apart(fast.parameters, exact.parameters()), 1e-3);
    EXPECT_GT(apart(fast.parameters, fast.initial), 0.01);
  }
}

// Where the weights are the anchor, what the anchor subtracts is all of a microbatch's gradient: on
// a fine grid the first inner step is gradient descent's over all samples of the pass.
TEST(CpuHalp, TheFirstInnerStepIsThatOfTheFullGradient) {
  const Settings fine = {"micro-batch=2", "halp.bits=16", "halp.mu=1", "halp.pass=1"};
  const CpuRun found = by_halp(halp_mlp(), 1, fine, halp_steps(2)),
               still = by_halp(halp_mlp(), 1, fine, halp_steps(1)),
               descent =
                   train_on_cpu(halp_mlp(), 1, {"global-batch=8", "micro-batch=2", "optimizer=sgd"},
                                halp_steps(1));
  EXPECT_EQ(apart(still.initial, still.parameters), 0);
  EXPECT_EQ(still.run.losses, descent.run.losses);
  EXPECT_GT(apart(descent.initial, descent.parameters), 0.01);
  for (std::size_t t = 0; t < found.parameters.size(); ++t)
    for (std::size_t e = 0; e < found.parameters[t].values.size(); ++e)
      ASSERT_NEAR(found.parameters[t].values[e], descent.parameters[t].values[e], 1e-4);
}

TEST(CpuHalp, HoldsTheBytesThatArePredicted) {
  for (const int bits : {3, 8, 16}) {
    const std::string setting = "halp.bits=" + std::to_string(bits);
    const CpuRun run = by_halp(halp_mlp(), 1, {"micro-batch=1", setting}, halp_steps(1));
    Bytes expected{}, predicted{};
    for (const TrainedTensor& t : run.initial) {
      const auto n = static_cast<std::int64_t>(t.values.size());
      expected += Bytes{8 * n + 4 + 4 * ((n * bits + 31) / 32)};
    }
    for (const Buffer& buffer : run.program.buffers)
      if (buffer.holds == Holds::OptimizerState) predicted += buffer.bytes;
    EXPECT_EQ(predicted, expected) << bits;
    ASSERT_EQ(run.run.memory.size(), 1u);
    EXPECT_EQ(
        run.run.memory[0].most_by_category[static_cast<std::size_t>(Category::OptimizerState)],
        expected)
        << bits;
  }
}

// Checkpoints within a pass and within inner steps.
TEST(CpuHalp, ResumesToTheSameBits) {
  const std::string path = ::testing::TempDir() + "cpu_halp.checkpoint";
  for (const Settings& settings :
       {Settings{"pp=2", "micro-batch=1"}, Settings{"dp=2", "micro-batch=1", "precision=bf16"}})
    for (const std::int64_t until : {1, 4}) {
      SCOPED_TRACE(std::string(settings.front()) + " " + std::to_string(until));
      const CpuRun whole = by_halp(halp_mlp(), 2, settings, halp_steps(8));
      CpuOptions options;
      options.checkpoint = path;
      by_halp(halp_mlp(), 2, settings, halp_steps(until), options);
      options.resume = true;
      const CpuRun second = by_halp(halp_mlp(), 2, settings, halp_steps(8), options);
      EXPECT_EQ(second.run.first_step, until);
      EXPECT_EQ(second.run.losses, whole.run.losses);
      EXPECT_EQ(apart(second.parameters, whole.parameters), 0);
      std::filesystem::remove(path);
    }
}

// Another grid would begin in the middle of a round.
TEST(CpuHalp, GoesOnWithNoOtherGrid) {
  CpuOptions options;
  options.checkpoint = ::testing::TempDir() + "cpu_halp_grid.checkpoint";
  by_halp(halp_mlp(), 1, {"micro-batch=1"}, halp_steps(2), options);
  options.resume = true;
  for (const auto& [other, own] : {std::pair{"halp.mu=10", "halp.mu=20"},
                                   {"halp.inner=4", "halp.inner=3"},
                                   {"halp.pass=1", "halp.pass=2"}}) {
    const std::string sentence = testing::refusal([&, set = other] {
      by_halp(halp_mlp(), 1, {"micro-batch=1", set}, halp_steps(4), options);
    });
    EXPECT_NE(sentence.find(std::string("it goes on with --set ") + own), std::string::npos)
        << sentence;
  }
  by_halp(halp_mlp(), 1, {"micro-batch=1"}, halp_steps(4), options);
  std::filesystem::remove(options.checkpoint);
}

// The losses of a pass are those of all samples of the run.
TEST(CpuHalp, TheLossOfAllSamplesFallsFromRoundToRound) {
  for (const Settings& settings :
       {Settings{"precision=fp32"}, Settings{"precision=bf16"}, Settings{"halp.bits=6"}}) {
    SCOPED_TRACE(settings.front());
    Settings all = {"micro-batch=1", "halp.mu=4", "halp.inner=10", "halp.pass=1"};
    all.insert(all.end(), settings.begin(), settings.end());
    const CpuRun run = by_halp(halp_mlp(), 1, all, halp_steps(11 * 4 + 1));
    for (std::size_t round = 1; round <= 4; ++round)
      EXPECT_LT(run.run.losses[11 * round], run.run.losses[11 * (round - 1)]) << round;
    EXPECT_LT(run.run.losses[11 * 4], 0.95 * run.run.losses[0]);
  }
}

TEST(CpuHalp, TrainingsThatItCannotKeepToAreRefused) {
  const Workload w = prepare(testing::scenario(
      halp_mlp(), 1, {"global-batch=8", "micro-batch=1", "optimizer=halp"}, "cpu"));
  const Program program = lower(w, {.grain = Grain::Op});
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  const testing::SampleNumbers source;
  const auto refused = [&](auto change) {
    Training training = halp_steps(4);
    change(training);
    Diagnostics found;
    check_anchored({w, program, prices, &training, &source}, "a local run", found);
    return found.empty() ? "" : found.front().message;
  };
  EXPECT_EQ(refused([](Training&) {}), "");
  EXPECT_EQ(refused([](Training& t) { t.clip = 1; }),
            "a local run trains by HALP, whose inner steps are of differences of gradients that no "
            "norm clips, found clip=1");
  EXPECT_EQ(refused([](Training& t) { t.weight_clip = 0.5; }),
            "a local run trains by HALP, whose weights are on the grid about an anchor, found "
            "weight-clip=0.5");
  EXPECT_EQ(refused([](Training& t) { t.sparsity = 0.5; }),
            "a local run trains by HALP, whose weights are on the grid about an anchor, found "
            "sparsity=0.5");
  EXPECT_EQ(refused([](Training& t) { t.stability = 1; }),
            "a local run trains by HALP, which reads every sample twice by itself, found "
            "stability=1");
  EXPECT_EQ(refused([](Training& t) { t.bit_errors = 0.01; }),
            "a local run trains by HALP, which reads every microbatch twice by itself, found "
            "bit-errors=0.01");
}

}  // namespace
}  // namespace trainyard
