// Tests what a training session guarantees around its steps: limits, checkpoints, precision,
// clipping.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/timeline/metrics.h"
#include "core/training/checkpoint.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_mlp;
using testing::tiny_transformer;
using testing::train_on_cpu;

Training session_training(std::int64_t steps) {
  Training t;
  t.rate = 0.05;
  t.steps = steps;
  return t;
}

bool same_bits(const std::vector<TrainedTensor>& a, const std::vector<TrainedTensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].name != b[i].name || a[i].values != b[i].values) return false;
  return true;
}

const Settings kPlans[] = {
    {"global-batch=4", "micro-batch=1", "pp=2", "optimizer=adamw"},
    {"global-batch=4", "micro-batch=1", "dp=2", "zero=1", "optimizer=momentum"},
    {"global-batch=4", "micro-batch=1", "dp=2", "zero=3", "optimizer=adamw"},
    {"global-batch=4", "micro-batch=1", "pp=2", "optimizer=adamw", "precision=bf16"},
    {"global-batch=4", "micro-batch=1", "pp=2", "optimizer=adamw", "offload=optimizer"},
    {"global-batch=4", "micro-batch=1", "dp=2", "zero=1", "precision=bf16", "offload=optimizer"},
    {"global-batch=4", "micro-batch=1", "dp=2", "precision=bf16-kahan", "offload=optimizer"},
    {"global-batch=4", "micro-batch=1", "dp=2", "compression=dgc", "compression.warmup=0",
     "optimizer=momentum"},
};

TEST(CpuSession, TwoRunsGiveTheSameBitsInBothModes) {
  for (const Settings& settings : kPlans) {
    CpuOptions wall;
    wall.mode = RunMode::WallClock;
    const Model model = tiny_transformer();
    const CpuRun a = train_on_cpu(model, 2, settings, session_training(3));
    const CpuRun b = train_on_cpu(model, 2, settings, session_training(3), wall);
    const CpuRun c = train_on_cpu(model, 2, settings, session_training(3), wall);
    EXPECT_EQ(a.run.losses, b.run.losses);
    EXPECT_EQ(b.run.losses, c.run.losses);
    EXPECT_TRUE(same_bits(a.parameters, b.parameters));
    EXPECT_TRUE(same_bits(b.parameters, c.parameters));
  }
}

TEST(CpuSession, ResumesToTheSameBits) {
  const std::string path = ::testing::TempDir() + "cpu_session.checkpoint";
  for (const Settings& settings : kPlans) {
    const Model model = tiny_transformer();
    const CpuRun whole = train_on_cpu(model, 2, settings, session_training(6));
    CpuOptions options;
    options.checkpoint = path;
    train_on_cpu(model, 2, settings, session_training(3), options);
    options.resume = true;
    const CpuRun second = train_on_cpu(model, 2, settings, session_training(6), options);
    EXPECT_EQ(second.run.first_step, 3);
    EXPECT_EQ(second.run.losses, whole.run.losses);
    EXPECT_TRUE(same_bits(second.parameters, whole.parameters));
    std::filesystem::remove(path);
  }
}

TEST(CpuSession, ACheckpointOfAnotherPlanIsRefused) {
  const std::string path = ::testing::TempDir() + "cpu_session_other.checkpoint";
  CpuOptions options;
  options.checkpoint = path;
  train_on_cpu(tiny_mlp(3), 1, {"global-batch=4"}, session_training(1), options);
  options.resume = true;
  EXPECT_THROW(train_on_cpu(tiny_mlp(4), 1, {"global-batch=4"}, session_training(2), options),
               Error);
  std::filesystem::remove(path);
}

// What a T2 stage kept before it derived weights had as many bytes and another meaning.
TEST(CpuSession, DerivedWeightsAreNamedInACheckpoint) {
  const std::string path = ::testing::TempDir() + "cpu_session_derived.checkpoint";
  for (const bool derives : {true, false}) {
    CpuOptions options;
    options.checkpoint = path;
    train_on_cpu(
        tiny_mlp(4), 2,
        {"pp=2", "schedule=pipemare", derives ? "pipemare.correct=on" : "pipemare.correct=off",
         "global-batch=4", "micro-batch=2", "optimizer=momentum"},
        session_training(3), options);
    const Checkpoint saved = load_checkpoint(path);
    for (const CheckpointPart& part : testing::non_empty(saved.parts))
      if (part.name.starts_with("optimizer state")) {
        EXPECT_EQ(part.name.starts_with("optimizer state with derived weights"), derives)
            << part.name;
      }
    std::filesystem::remove(path);
  }
}

TEST(CpuSession, ACheckpointOfAnotherTrainingIsRefused) {
  const std::string path = ::testing::TempDir() + "cpu_session_training.checkpoint";
  CpuOptions options;
  options.checkpoint = path;
  const auto train = [&](const Training& training) {
    train_on_cpu(tiny_mlp(3), 1, {"global-batch=4"}, training, options);
  };
  train(session_training(2));
  options.resume = true;
  Training rate = session_training(3), seed = session_training(3);
  rate.rate = 0.06, seed.seed = 2;
  EXPECT_THROW(train(rate), Error);
  EXPECT_THROW(train(seed), Error);
  EXPECT_THROW(train(session_training(1)), Error);
  EXPECT_NO_THROW(train(session_training(2)));
  EXPECT_NO_THROW(train(session_training(3)));
  std::filesystem::remove(path);
}

// What an arena holds equals the ledger for the same instants: its peak to the byte, and never
// more.
TEST(CpuSession, HoldsWhatTheLedgerSays) {
  for (const Settings& settings : kPlans)
    for (const Model& model : {tiny_mlp(6), tiny_transformer()}) {
      const CpuRun t = train_on_cpu(model, 2, settings, session_training(2));
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(t.program.devices); ++d) {
        const MemoryWave predicted = memory_wave(t.run.timeline, t.program, DeviceId{d});
        const MemoryWave& measured = t.run.waves[d];
        EXPECT_EQ(total(measured.samples[measured.peak].bytes).value,
                  total(predicted.samples[predicted.peak].bytes).value)
            << model.name << " " << settings[2] << " " << settings[3];
      }
    }
}

TEST(CpuSession, ALimitIsSaidWithItsOwners) {
  CpuOptions options;
  options.memory_limit = Bytes{1500};
  try {
    train_on_cpu(tiny_mlp(6), 1, {"global-batch=4", "optimizer=adamw"}, session_training(1),
                 options);
    FAIL() << "it fits into 1500 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::OutOfMemory);
    EXPECT_NE(std::string(error.what()).find("held"), std::string::npos) << error.what();
  }
}

TEST(CpuSession, ClipsTheNormOfAllShards) {
  Training clipped = session_training(2);
  clipped.clip = 0.1;
  const Model model = tiny_transformer();
  const Settings base = {"global-batch=4", "micro-batch=1", "optimizer=momentum"};
  const CpuRun alone = train_on_cpu(model, 1, base, clipped);
  EXPECT_GT(alone.run.gradient_norm, 0.1);
  for (const Settings& more : {Settings{"pp=2"}, Settings{"dp=2", "zero=2"}, Settings{"dp=2"}}) {
    Settings settings = base;
    settings.insert(settings.end(), more.begin(), more.end());
    const CpuRun t = train_on_cpu(model, 2, settings, clipped);
    EXPECT_NEAR(t.run.gradient_norm, alone.run.gradient_norm, 1e-5 * alone.run.gradient_norm);
    for (std::size_t i = 0; i < t.run.losses.size(); ++i)
      EXPECT_NEAR(t.run.losses[i], alone.run.losses[i], 2e-6);
  }
}

TEST(CpuSession, SixteenBitsTrainCloseToThirtyTwo) {
  const Model model = tiny_mlp(4);
  Training training = session_training(20);
  const Settings base = {"global-batch=8", "micro-batch=4", "optimizer=momentum"};
  const CpuRun exact = train_on_cpu(model, 1, base, training);
  for (const char* precision :
       {"precision=bf16", "precision=fp16", "precision=bf16-sr", "precision=bf16-kahan"}) {
    SCOPED_TRACE(precision);
    Settings settings = base;
    settings.push_back(precision);
    const CpuRun t = train_on_cpu(model, 1, settings, training);
    EXPECT_NEAR(t.run.losses.back(), exact.run.losses.back(), 0.05);
    EXPECT_NE(t.run.losses.back(), exact.run.losses.back());
  }
}

// Data that an op keeps besides tensors has a format of its own: indices of the largest elements,
// softmax.
TEST(CpuSession, FactsKeepTheirFormatUnderSixteenBits) {
  const Model model = testing::tiny_convnet(2);
  const Settings base = {"global-batch=4", "micro-batch=4", "optimizer=momentum"};
  const CpuRun exact = train_on_cpu(model, 1, base, session_training(5));
  Settings half = base;
  half.push_back("precision=bf16");
  const CpuRun t = train_on_cpu(model, 1, half, session_training(5));
  for (std::size_t i = 0; i < t.parameters.size(); ++i)
    for (std::size_t e = 0; e < t.parameters[i].values.size(); ++e)
      EXPECT_NEAR(t.parameters[i].values[e], exact.parameters[i].values[e], 0.02)
          << t.parameters[i].name;
}

TEST(CpuSession, OverflowSkipsTheUpdateAndHalvesTheScale) {
  Training training = session_training(8);
  training.loss_scale = 0x1p40;
  training.hysteresis = 1;
  const CpuRun t = train_on_cpu(
      tiny_mlp(4), 1, {"global-batch=8", "micro-batch=4", "optimizer=momentum", "precision=fp16"},
      training);
  EXPECT_EQ(t.run.skipped, 8);  // 2^33 is still too much
  for (std::size_t i = 0; i < t.parameters.size(); ++i)
    EXPECT_EQ(t.parameters[i].values, t.initial[i].values);
}

TEST(CpuSession, AStaticLossScaleOfThePlanStaysWhatItIs) {
  Training training = session_training(4);
  training.scale_window = 1;  // would double with every update
  const Model model = tiny_mlp(4);
  const Settings base = {"global-batch=8", "micro-batch=4", "optimizer=momentum", "precision=fp16"};
  Settings still = base, far = base;
  still.push_back("loss-scale=1024");
  far.push_back("loss-scale=1073741824");
  EXPECT_EQ(train_on_cpu(model, 1, still, training).run.skipped, 0);
  EXPECT_EQ(train_on_cpu(model, 1, far, training).run.skipped, 4);
}

}  // namespace
}  // namespace trainyard
