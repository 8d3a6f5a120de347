// A side input, as an encoder's output that all layers of a decoder read: its layers train as one
// device does wherever they are, and its gradient is the sum of theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "backends/executable.h"
#include "core/timeline/metrics.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/synchronous.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_encoder_decoder;
using testing::train_on_cpu;

Training side_training() {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = 3;
  return t;
}

Model untied(Model model) {
  for (Block& block : model.blocks)
    for (Tensor& tensor : block.graph.tensors) tensor.tied_to.clear();
  return model;
}

enum class KeptTensors : std::uint8_t { None, Output };

/// Layers that add what a product makes of their input to a side input, which no layer keeps: the
/// first one's. A ReLU at the end keeps the output.
Model adds_side_input(KeptTensors kept) {
  Model model;
  model.name = kept == KeptTensors::Output ? "keeps its outputs" : "keeps no output";
  model.family = "mlp";
  model.tokens = false;
  const auto layer = [&](bool first) {
    GraphBuilder b;
    const TensorId side = b.activation("side", {kBatch, whole(4)});
    b.graph.side_input = side;
    TensorId x = side;
    if (first)
      b.graph.input = side;
    else
      x = b.graph.input = b.activation("input", {kBatch, whole(4)});
    TensorId y = b.residual("add", b.linear("fc", x, whole(4), true), side);
    if (kept == KeptTensors::Output) y = b.node("relu", relu(), {y});
    return b.block(first ? "first" : "others", first ? 1 : 3, true, y);
  };
  GraphBuilder start;
  const TensorId x = start.graph.input = start.activation("input", {kBatch, whole(3)});
  model.blocks.push_back(start.block("stem", 1, false, start.linear("fc", x, whole(4), true)));
  model.blocks.push_back(layer(true));
  model.blocks.push_back(layer(false));
  GraphBuilder end;
  const TensorId last = end.graph.input = end.activation("input", {kBatch, whole(4)});
  model.blocks.push_back(
      end.block("head", 1, false, end.loss(end.linear("fc", last, whole(3), true))));
  return model;
}

void expect_as_one_device(const CpuRun& run, const CpuRun& alone, bool bit_for_bit) {
  ASSERT_EQ(run.run.losses.size(), alone.run.losses.size());
  for (std::size_t i = 0; i < alone.run.losses.size(); ++i) {
    if (bit_for_bit)
      EXPECT_EQ(run.run.losses[i], alone.run.losses[i]) << "step " << i;
    else
      EXPECT_NEAR(run.run.losses[i], alone.run.losses[i], 1e-6 * alone.run.losses[i]);
  }
}

void expect_as_foretold(const CpuRun& run) {
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(run.program.devices); ++d) {
    const auto peak = [](const MemoryWave& wave) {
      return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
    };
    const double foretold = peak(memory_wave(run.run.timeline, run.program, DeviceId{d}));
    EXPECT_NEAR(peak(run.run.waves[d]), foretold,
                std::max(0.02 * foretold, testing::largest_message(run.program)))
        << "device " << d;
  }
}

// The first of a few shapes that is legal for the schedule: its devices and its words.
std::optional<std::pair<std::int64_t, std::vector<std::string>>> shape_of(
    const Model& model, std::string_view schedule) {
  for (const char* stages : {"1", "2"})
    for (const int devices : {4, 2}) {
      std::vector<std::string> words = {
          "schedule=" + std::string(schedule), "pp=" + std::to_string(devices),
          "virtual-stages=" + std::string(stages), "global-batch=8", "micro-batch=1"};
      const Settings settings(words.begin(), words.end());
      if (!has_errors(check(testing::scenario(model, devices, settings, "cpu"))))
        return std::pair{std::int64_t{devices}, words};
    }
  return std::nullopt;
}

TEST(SideInput, EverySynchronousScheduleTrainsAsOneDevice) {
  int bit_for_bit = 0;
  const std::vector<Model> models = testing::sampled(
      std::vector{untied(tiny_encoder_decoder("transformer", 4)),
                  adds_side_input(KeptTensors::None), untied(tiny_encoder_decoder("t5", 4)),
                  adds_side_input(KeptTensors::Output)},
      3);
  for (const Model& model : models) {
    const CpuRun alone = train_on_cpu(
        model, 1, {"global-batch=8", "micro-batch=1", "optimizer=momentum"}, side_training());
    for (const Method& method : testing::non_empty(methods())) {
      if (!testing::synchronous(method)) continue;
      SCOPED_TRACE(std::string(method.name) + ", " + model.name);
      const auto shape = shape_of(model, method.name);
      ASSERT_TRUE(shape.has_value()) << "no shape of the list is legal";
      Settings settings(shape->second.begin(), shape->second.end());
      settings.push_back("optimizer=momentum");
      const CpuRun run = train_on_cpu(model, shape->first, settings, side_training());
      const bool same = testing::adds_in_order(run.program);
      bit_for_bit += same ? 1 : 0;
      expect_as_one_device(run, alone, same);
      expect_as_foretold(run);
    }
  }
  EXPECT_GE(bit_for_bit, 3 * static_cast<int>(models.size()));
}

TEST(SideInput, DividedAndRecomputedItTrainsAsOneDevice) {
  struct Case {
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {
      {2, {"dp=2"}},
      {2, {"dp=2", "zero=1"}},
      {1, {"recompute=full"}},
      {1, {"recompute=op"}},
      {1, {"recompute=keep=input"}},
      {1, {"recompute=selective", "flash-attention=off"}},
      {2, {"pp=2", "schedule=zb-h1", "recompute=full"}},
      {2, {"tp=2", "sequence-parallel=off"}},
      {2, {"tp=2", "sequence-parallel=on"}},
      {2, {"tp=2", "sequence-parallel=on", "recompute=full"}},
      {4, {"tp=2", "pp=2", "sequence-parallel=off"}},
      {4, {"tp=2", "pp=2", "sequence-parallel=on", "schedule=zb-h1"}},
      {8, {"tp=2", "pp=2", "dp=2", "sequence-parallel=on"}},
  };
  for (const Model& model :
       {tiny_encoder_decoder("transformer", 2), tiny_encoder_decoder("t5", 2)}) {
    const Settings base = {"global-batch=8", "micro-batch=1", "seq=4", "optimizer=adamw"};
    const CpuRun alone = train_on_cpu(model, 1, base, side_training());
    for (const Case& c : testing::non_empty(cases)) {
      Settings settings = base;
      std::string name = model.name;
      for (std::string_view one : c.settings) {
        settings.push_back(one);
        name += " " + std::string(one);
      }
      SCOPED_TRACE(name);
      const CpuRun run = train_on_cpu(model, c.devices, settings, side_training());
      expect_as_one_device(run, alone, false);
      if (c.devices < 8) expect_as_foretold(run);
    }
  }
}

TEST(SideInput, AgreesWithTheReference) {
  for (const Model& model :
       {untied(tiny_encoder_decoder("transformer", 2)), untied(tiny_encoder_decoder("t5", 2)),
        adds_side_input(KeptTensors::None)})
    for (const Settings& settings :
         {Settings{"pp=1"}, Settings{"pp=2"}, Settings{"pp=2", "schedule=zb-h1"},
          Settings{"pp=2", "schedule=dualpipe"}, Settings{"pp=2", "recompute=full"},
          Settings{"pp=2", "split=2,2"}, Settings{"pp=2", "split=3,1"}}) {
      std::string name = model.name;
      Settings all = {"global-batch=8", "micro-batch=1", "optimizer=momentum"};
      for (std::string_view one : settings) {
        all.push_back(one);
        name += " " + std::string(one);
      }
      SCOPED_TRACE(name);
      const std::int64_t devices = settings[0] == "pp=2" ? 2 : 1;
      const Training training = side_training();
      const CpuRun fast = train_on_cpu(model, devices, all, training);
      const Program program = lower(fast.workload, {.grain = Grain::Op, .steps = 3});
      ReferenceOptions options;
      options.rules[0].rate = training.rate;
      options.rules[0].momentum = training.momentum;
      testing::start_as(fast, options);
      const ReferenceRun exact = ReferenceMachine(fast.workload, program).run(options);
      ASSERT_EQ(fast.run.losses.size(), exact.step_losses.size());
      for (std::size_t i = 0; i < exact.step_losses.size(); ++i)
        EXPECT_NEAR(fast.run.losses[i], exact.step_losses[i], 1e-5 * exact.step_losses[i]);
    }
}

// A block of a decoder that nothing precedes has nobody to hand it the encoder's output.
TEST(SideInput, ThatNoLayerHandsOnIsRefused) {
  Model model = tiny_encoder_decoder("transformer", 2);
  std::erase_if(model.blocks, [](const Block& block) { return block.name == "decoder_first"; });
  Diagnostics found;
  check_executable(model, "a local run", found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].message,
            "a local run hands a second input from layer to layer, beginning with one whose input "
            "it is, found that no layer hands encoder_output to decoder");
}

}  // namespace
}  // namespace trainyard
