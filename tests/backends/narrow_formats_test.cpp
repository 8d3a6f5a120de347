// Products in 8 and 4 bits: they train, within the memory that their program states, alike on one
// device and on several; what a local run does not do in them it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/numbers/operand_scales.h"
#include "backends/reference/reference_machine.h"
#include "core/timeline/metrics.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

constexpr testing::GptSizes kNarrowGpt{
    .layers = 2, .hidden = 32, .heads = 2, .sequence = 8, .vocab = 64};

Training falling() {
  Training training;
  training.rate = 0.01;
  training.steps = 6;
  return training;
}

testing::CpuRun train_narrow(const std::string& precision, const testing::Settings& words,
                             std::int64_t devices = 1, const CpuOptions& options = {},
                             const Training& training = falling()) {
  testing::Settings all = {precision, "optimizer=adamw", "global-batch=8", "micro-batch=2"};
  all.insert(all.end(), words.begin(), words.end());
  return testing::train_on_cpu(testing::gpt(kNarrowGpt), devices, all, training, options);
}

const std::vector<std::string>& narrow_precisions() {
  static const std::vector<std::string> list = {"precision=fp8", "precision=mxfp8",
                                                "precision=nvfp4"};
  return list;
}

double most_held(const MemoryWave& wave) {
  return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
}

TEST(NarrowFormats, TrainAsBf16DoesAndNotAlike) {
  const testing::CpuRun wide = train_narrow("precision=bf16", {});
  for (const std::string& precision : narrow_precisions()) {
    const testing::CpuRun run = train_narrow(precision, {});
    ASSERT_EQ(run.run.losses.size(), wide.run.losses.size());
    const double share = precision == "precision=nvfp4" ? 0.1 : 0.03;
    for (std::size_t i = 0; i < run.run.losses.size(); ++i)
      EXPECT_NEAR(run.run.losses[i], wide.run.losses[i], share * wide.run.losses[i])
          << precision << " step " << i;
    EXPECT_NE(run.run.losses[0], wide.run.losses[0]) << precision;
    EXPECT_EQ(train_narrow(precision, {}).run.losses, run.run.losses) << precision;
  }
}

// Layers that stay in bf16 train as a run in bf16 does, bit for bit where all of them do; where
// some do, a run on two devices is that on one, and holds what its program states.
TEST(NarrowFormats, LayersMayStayInBf16) {
  const testing::CpuRun wide = train_narrow("precision=bf16", {});
  for (const std::string method : {"fp8", "mxfp8", "nvfp4"}) {
    const std::string precision = "precision=" + method, all = method + ".bf16-layers=all",
                      some = method + ".bf16-layers=last:1";
    EXPECT_EQ(train_narrow(precision, {all}).run.losses, wide.run.losses) << method;
    const testing::CpuRun one = train_narrow(precision, {some});
    EXPECT_NE(one.run.losses, wide.run.losses) << method;
    EXPECT_NE(one.run.losses, train_narrow(precision, {}).run.losses) << method;
    const MemoryWave predicted = memory_wave(one.run.timeline, one.program, DeviceId{0});
    EXPECT_EQ(most_held(one.run.waves[0]), most_held(predicted)) << method;
    const testing::CpuRun two = train_narrow(precision, {some, "pp=2"}, 2);
    for (std::size_t i = 0; i < one.run.losses.size(); ++i)
      EXPECT_NEAR(two.run.losses[i], one.run.losses[i], 1e-5 * one.run.losses[i])
          << method << " step " << i;
  }
}

TEST(NarrowFormats, HoldWhatTheirProgramStates) {
  for (const std::string& precision : narrow_precisions())
    for (const char* recompute : {"recompute=none", "recompute=selective", "recompute=full"}) {
      const testing::CpuRun run = train_narrow(precision, {recompute});
      const MemoryWave predicted = memory_wave(run.run.timeline, run.program, DeviceId{0});
      EXPECT_EQ(most_held(run.run.waves[0]), most_held(predicted)) << precision << " " << recompute;
    }
}

TEST(NarrowFormats, APlanTrainsAsOneDeviceDoes) {
  for (const std::string& precision : narrow_precisions()) {
    const testing::CpuRun one = train_narrow(precision, {});
    for (const testing::Settings& words : {testing::Settings{"pp=2"},
                                           {"dp=2"},
                                           {"dp=2", "zero=1"},
                                           {"recompute=full"},
                                           {"pp=2", "schedule=zb-h1"}}) {
      const bool divided = words[0] != "recompute=full";
      const testing::CpuRun run = train_narrow(precision, words, divided ? 2 : 1);
      ASSERT_EQ(run.run.losses.size(), one.run.losses.size());
      for (std::size_t i = 0; i < one.run.losses.size(); ++i)
        EXPECT_NEAR(run.run.losses[i], one.run.losses[i], 1e-5 * one.run.losses[i])
            << precision << " " << words[0] << " step " << i;
    }
  }
}

// A rank of sequence parallel keeps the codes of its own tokens, and gathers them again for the
// weight gradient. Sequences of 64 tokens are whole blocks of either format on each of two ranks,
// so that a second cast finds what the first one wrote, but for nvfp4, whose scales are no powers
// of two.
TEST(NarrowFormats, SequenceParallelTrainsAsTensorParallelDoes) {
  testing::GptSizes sizes = kNarrowGpt;
  sizes.hidden = 64, sizes.sequence = 64;
  for (const std::string& precision : narrow_precisions())
    for (const char* recompute : {"recompute=none", "recompute=selective"}) {
      const auto train = [&](std::string_view sequence_parallel) {
        return testing::train_on_cpu(
            testing::gpt(sizes), 2,
            {precision, "optimizer=adamw", "global-batch=4", "tp=2", recompute, sequence_parallel},
            falling(), {});
      };
      const testing::CpuRun together = train("sequence-parallel=off"),
                            apart = train("sequence-parallel=on");
      const double share = precision == "precision=nvfp4" ? 5e-3 : 1e-5;
      for (std::size_t i = 0; i < together.run.losses.size(); ++i)
        EXPECT_NEAR(apart.run.losses[i], together.run.losses[i], share * together.run.losses[i])
            << precision << " " << recompute << " step " << i;
      const MemoryWave predicted = memory_wave(apart.run.timeline, apart.program, DeviceId{0});
      EXPECT_EQ(most_held(apart.run.waves[0]), most_held(predicted)) << precision << recompute;
      EXPECT_LT(most_held(apart.run.waves[0]), most_held(together.run.waves[0])) << precision;
    }
}

// The rows of an expert are cast by themselves for its weight gradient. Where ranks divide the
// experts, each has the copies of several ranks' microbatches at once: blocks of rows are others
// then, and a scale of the tensor is that of more rows, so that only the one scale of fp8, which
// follows from the steps before, makes no difference.
TEST(NarrowFormats, ExpertsTrainAsOneDeviceDoes) {
  const Model model = testing::tiny_transformer({.family = "mixtral", .experts = 4});
  for (const std::string& precision : narrow_precisions()) {
    const auto train = [&](std::int64_t devices, testing::Settings words) {
      words.insert(words.end(), {precision, "optimizer=adamw", "global-batch=8", "micro-batch=2"});
      return testing::train_on_cpu(model, devices, words, falling(), {});
    };
    const testing::CpuRun one = train(1, {});
    const testing::CpuRun wide = testing::train_on_cpu(
        model, 1, {"precision=bf16", "optimizer=adamw", "global-batch=8", "micro-batch=2"},
        falling(), {});
    EXPECT_NE(one.run.losses[0], wide.run.losses[0]) << precision;
    EXPECT_NEAR(one.run.losses.back(), wide.run.losses.back(), 0.1 * wide.run.losses.back());
    EXPECT_EQ(most_held(one.run.waves[0]),
              most_held(memory_wave(one.run.timeline, one.program, DeviceId{0})))
        << precision;
    for (const testing::Settings& words :
         {testing::Settings{"dp=2"}, {"pp=2"}, {"ep=2", "dp=2"}, {"recompute=full"}}) {
      const testing::CpuRun run = train(words[0] == "recompute=full" ? 1 : 2, words);
      const bool together = words[0] == "ep=2" && precision != "precision=fp8";
      const std::size_t alike = !together                        ? one.run.losses.size()
                                : precision == "precision=mxfp8" ? 1
                                                                 : 0;
      EXPECT_NEAR(run.run.losses.back(), one.run.losses.back(), 0.1 * one.run.losses.back());
      for (std::size_t i = 0; i < alike; ++i)
        EXPECT_NEAR(run.run.losses[i], one.run.losses[i], 1e-5 * one.run.losses[i])
            << precision << " " << words[0] << " step " << i;
    }
  }
}

// Tensor ranks that each have a part of every expert keep the codes of their own copies of tokens
// and gather these again, where sequence parallel divides them. Forward reads the same rows in both
// cases, and its first loss is the same to the bit. Weight gradients cast the rows of an expert in
// other blocks, and only the one scale of fp8 makes no difference.
TEST(NarrowFormats, ExpertsOnTensorRanksGatherWhatTheyKept) {
  const Model model = testing::tiny_transformer({.family = "mixtral", .experts = 4});
  for (const std::string& precision : testing::sampled(narrow_precisions(), 2))
    for (const testing::Settings& words : {testing::Settings{"tp=2"},
                                           {"tp=2", "recompute=full"},
                                           {"tp=2", "pp=2", "schedule=zb-h1"},
                                           {"tp=2", "dp=2", "ep=2"},
                                           {"tp=2", "dp=2", "ep=2", "recompute=selective"},
                                           {"tp=2", "dp=2", "ep=2", "recompute=full"}}) {
      SCOPED_TRACE(precision + " " + std::string(words.back()));
      const auto train = [&](std::string_view sequence_parallel) {
        testing::Settings all = words;
        all.insert(all.end(),
                   {precision, "optimizer=adamw", "global-batch=4", "seq=4", sequence_parallel});
        return testing::train_on_cpu(model, words.size() > 2 ? 4 : 2, all, falling(), {});
      };
      const testing::CpuRun together = train("sequence-parallel=off"),
                            apart = train("sequence-parallel=on");
      EXPECT_EQ(apart.run.losses[0], together.run.losses[0]);
      for (std::size_t i = 0; i < together.run.losses.size(); ++i)
        EXPECT_NEAR(apart.run.losses[i], together.run.losses[i],
                    (precision == "precision=fp8" ? 1e-5 : 0.1) * together.run.losses[i])
            << "step " << i;
    }
}

// Where every token goes to every expert, all ranks have as many copies as is planned.
TEST(NarrowFormats, ExpertsOnTensorRanksHoldWhatTheirProgramStates) {
  const Model model = testing::tiny_transformer({.family = "mixtral", .experts = 4, .top_k = 4});
  for (const std::string& precision : testing::sampled(narrow_precisions(), 2))
    for (const testing::Settings& words : {testing::Settings{"tp=2", "sequence-parallel=off"},
                                           {"tp=2"},
                                           {"tp=2", "etp=1"},
                                           {"tp=2", "etp=1", "ep=2"},
                                           {"tp=2", "recompute=full"},
                                           {"tp=2", "dp=2", "ep=2"},
                                           {"tp=2", "dp=2", "ep=2", "sequence-parallel=off"},
                                           {"tp=2", "dp=2", "ep=2", "recompute=full"}}) {
      SCOPED_TRACE(precision + " " + std::string(words.back()));
      const bool four = std::find(words.begin(), words.end(), "dp=2") != words.end();
      testing::Settings all = words;
      all.insert(all.end(), {precision, "optimizer=adamw", "global-batch=4", "seq=4"});
      const testing::CpuRun run = testing::train_on_cpu(model, four ? 4 : 2, all, falling(), {});
      const MemoryWave predicted = memory_wave(run.run.timeline, run.program, DeviceId{0});
      EXPECT_EQ(most_held(run.run.waves[0]), most_held(predicted));
      all[all.size() - 4] = "precision=bf16";
      const testing::CpuRun wide = testing::train_on_cpu(model, four ? 4 : 2, all, falling(), {});
      EXPECT_NE(run.run.losses, wide.run.losses);
      EXPECT_NEAR(run.run.losses.back(), wide.run.losses.back(), 0.1 * wide.run.losses.back());
    }
}

// The scales of fp8 look back on steps from before the checkpoint.
TEST(NarrowFormats, ARunThatIsResumedGoesOnWithTheSameBits) {
  CpuOptions options;
  options.checkpoint = ::testing::TempDir() + "narrow_formats.checkpoint";
  std::remove(options.checkpoint.c_str());
  Training half = falling();
  half.steps /= 2;
  train_narrow("precision=fp8", {}, 1, options, half);
  options.resume = true;
  const testing::CpuRun resumed = train_narrow("precision=fp8", {}, 1, options);
  EXPECT_EQ(resumed.run.first_step, half.steps);
  EXPECT_EQ(resumed.run.losses, train_narrow("precision=fp8", {}).run.losses);
  std::remove(options.checkpoint.c_str());
}

TEST(OperandScales, LookBackAsManyStepsAsTheySay) {
  OperandScales scales(2);
  EXPECT_EQ(scales.known(0), 0);
  scales.see(0, 3);
  scales.see(0, 5);
  scales.see(0, 4);
  EXPECT_EQ(scales.known(0), 0);
  scales.end_step();
  EXPECT_EQ(scales.known(0), 5);
  EXPECT_EQ(scales.known(1), 0);
  OperandScales other(2);
  ASSERT_TRUE(other.restore(scales.state()));
  EXPECT_FALSE(OperandScales(3).restore(scales.state()));
  EXPECT_EQ(scales.upcoming(0), 5);
  for (OperandScales* one : {&scales, &other}) {
    for (std::size_t step = 1; step < OperandScales::kSteps; ++step) {
      one->see(0, 1);
      one->end_step();
      EXPECT_EQ(one->known(0), 5);
    }
    one->see(0, 1);
    one->end_step();
    EXPECT_EQ(one->known(0), 1);
  }
}

// A size that an update tells of the next weights is known a step later, as one that a product
// sees.
TEST(OperandScales, KnowWeightsAsIfProductsHadSeenThem) {
  OperandScales cast(1), seen(1);
  cast.begin_with(0, 3), seen.begin_with(0, 3);
  EXPECT_EQ(cast.known(0), 3);
  float size = 3;
  for (const float next : {2.0F, 7.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F,
                           1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 4.0F, 1.0F}) {
    seen.see(0, size);
    cast.see_next(0, next);
    EXPECT_EQ(cast.next(0), next);
    const float upcoming = cast.upcoming(0);
    OperandScales resumed(1);
    cast.end_step(), seen.end_step();
    EXPECT_EQ(cast.known(0), seen.known(0));
    EXPECT_EQ(cast.known(0), upcoming);
    ASSERT_TRUE(resumed.restore(cast.state()));
    EXPECT_EQ(resumed.upcoming(0), cast.upcoming(0));
    size = next;
  }
}

TEST(NarrowFormats, WhatIsNotDoneLocallyIsRefusedWithAWayOut) {
  const auto refused = [](const testing::Settings& words, std::int64_t devices) {
    const Workload w = prepare(testing::scenario(testing::gpt(kNarrowGpt), devices, words, "cpu"));
    const Program p = lower(w, {.grain = Grain::Op});
    const Training training;
    const Diagnostics found = CpuBackend::check({w, p, TaskPrices{}, &training});
    return found.empty() ? std::string("accepted")
                         : found.back().message + "; try " + found.back().fix;
  };
  EXPECT_EQ(refused({"precision=mxfp8"}, 1), "accepted");
  EXPECT_EQ(refused({"precision=fp8", "fp8.weights=fp8"}, 1), "accepted");
  EXPECT_EQ(refused({"precision=fp8", "zero=3", "dp=2", "fp8.gather-fp8=on"}, 2), "accepted");
  const Workload w =
      prepare(testing::scenario(testing::gpt(kNarrowGpt), 1, {"precision=fp8"}, "cpu"));
  const Diagnostics reference = ReferenceMachine::check(w, lower(w, {.grain = Grain::Op}));
  ASSERT_TRUE(has_errors(reference));
  EXPECT_EQ(reference[0].message,
            "the reference computes every product in 8-byte numbers, found casts to fp8");
}

}  // namespace
}  // namespace trainyard
