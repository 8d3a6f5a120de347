// Ranks that divide a sequence train as one device does that has the whole of it, in the memory
// that the program states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>

#include "core/base/error.h"
#include "core/timeline/metrics.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;

struct LongSequence {
  const char* family = "gpt2";
  int experts = 0;
  bool dropout = false;
  std::int64_t window = 0;
  Mixer mixer = Mixer::Attention;
  std::int64_t groups = 4;  // of a recurrence's heads
  EncoderHead head = EncoderHead::MaskedTokens;
};

// As small as the other tiny models, but with sixteen tokens.
Model long_model(const LongSequence& tiny) {
  TransformerSpec spec = family_spec(tiny.family);
  spec.name = std::string("long ") + tiny.family;
  spec.layers = spec.decoder_layers = 4;
  spec.hidden = 8;
  spec.heads = 4;
  spec.kv_heads = spec.fused_qkv ? 4 : 2;
  spec.ffn = 6;
  spec.vocab = 7;
  spec.sequence = 16;
  spec.window = tiny.window;
  spec.dropout = spec.attention_dropout = tiny.dropout;
  if (tiny.experts > 0)
    spec.experts.count = tiny.experts, spec.experts.top_k = 2, spec.experts.ffn = 6;
  if (tiny.mixer != Mixer::Attention) {
    // Gated delta is in every other layer, as in Qwen3-Next, whose others have attention.
    spec.mixer = tiny.mixer;
    if (tiny.mixer == Mixer::GatedDelta)
      for (int i = 0; i < 4; ++i)
        spec.pattern.push_back({.mixer = i % 2 == 0 ? tiny.mixer : Mixer::Attention});
    spec.state_space = {
        .heads = 4, .width = 2, .state = 3, .groups = tiny.groups, .taps = 3, .chunk = 4};
    spec.delta = {
        .key_heads = tiny.groups, .key_width = 4, .value_heads = 4, .value_width = 3, .taps = 3};
  }
  const bool two_stacks = spec.family == "t5" || spec.family == "transformer";
  if (two_stacks) spec.kv_heads = 4;
  return two_stacks              ? build_encoder_decoder(spec)
         : spec.family == "bert" ? build_encoder(spec, tiny.head)
                                 : build_decoder(spec);
}

Training training_of_contexts() {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = 3;
  return t;
}

CpuRun train_contexts(const Model& model, std::int64_t devices, const Settings& settings,
                      CpuOptions options = {}) {
  Settings all = {"global-batch=8", "micro-batch=1", "optimizer=momentum"};
  all.insert(all.end(), settings.begin(), settings.end());
  return train_on_cpu(model, devices, all, training_of_contexts(), std::move(options));
}

void expect_as_alone(const CpuRun& run, const CpuRun& alone) {
  testing::expect_same_training(run, alone, 1e-4);
}

struct DividedSequence {
  std::int64_t devices;
  Settings settings;
};

constexpr const char *kUlysses = "context-parallel.kind=ulysses",
                     *kHybrid = "context-parallel.kind=hybrid";

const DividedSequence kDividedSequences[] = {
    {2, {"cp=2"}},
    {4, {"cp=4"}},
    {8, {"cp=8"}},
    {2, {"cp=2", "overlap=off"}},
    {2, {"cp=2", "flash-attention=off"}},
    {2, {"cp=2", "flash-attention=off", "recompute=selective"}},
    {2, {"cp=2", "recompute=full"}},
    {2, {"cp=2", "recompute=full", "overlap=off"}},
    {2, {"cp=2", "recompute=op"}},
    {4, {"cp=2", "dp=2", "zero=1"}},
    {4, {"cp=2", "dp=2", "zero=3"}},
    {4, {"cp=2", "dp=2", "zero=2", "rank-order=tp-dp-ep-cp-pp"}},
    {4, {"cp=2", "pp=2", "schedule=zb-h1"}},
    {4, {"cp=2", "pp=2", "schedule=dualpipe-v", "virtual-stages=2"}},
    {4, {"cp=2", "tp=2", "sequence-parallel=off"}},
    {4, {"cp=2", "tp=2", "sequence-parallel=on"}},
    {8, {"cp=2", "tp=2", "pp=2", "sequence-parallel=on", "recompute=full"}},
    {2, {"cp=2", kUlysses}},
    {4, {"cp=4", kUlysses}},
    {2, {"cp=2", kUlysses, "overlap=off"}},
    {2, {"cp=2", kUlysses, "flash-attention=off"}},
    {2, {"cp=2", kUlysses, "flash-attention=off", "recompute=selective"}},
    {2, {"cp=2", kUlysses, "recompute=full"}},
    {2, {"cp=2", kUlysses, "recompute=op"}},
    {2, {"cp=2", kUlysses, "recompute=keep=attention"}},
    {4, {"cp=2", kUlysses, "dp=2", "zero=3"}},
    {4, {"cp=2", kUlysses, "dp=2", "zero=2", "rank-order=tp-dp-ep-cp-pp"}},
    {4, {"cp=2", kUlysses, "pp=2", "schedule=zb-h1", "flash-attention=off"}},
    {4, {"cp=2", kUlysses, "pp=2", "schedule=dualpipe-v", "virtual-stages=2"}},
    {4, {"cp=2", kUlysses, "tp=2", "sequence-parallel=on"}},
    {4, {"cp=4", kHybrid}},
    {4, {"cp=4", kHybrid, "overlap=off", "flash-attention=off"}},
    {4, {"cp=4", kHybrid, "recompute=full"}},
    {4, {"cp=4", kHybrid, "recompute=op"}},
    {8, {"cp=4", kHybrid, "tp=2", "sequence-parallel=on"}},
    {8, {"cp=4", kHybrid, "pp=2", "schedule=zb-h1"}},
    {8, {"cp=8", kHybrid, "context-parallel.ulysses=2"}},
};

std::string name_of(const DividedSequence& d) {
  std::string name;
  for (std::string_view one : d.settings) name += std::string(one) + " ";
  return name;
}

// What is said against a plan; "" if it is accepted.
std::string refusal_of_contexts(const Model& model, const DividedSequence& d) {
  Settings all = {"precision=fp32", "global-batch=8", "micro-batch=1", "optimizer=momentum"};
  all.insert(all.end(), d.settings.begin(), d.settings.end());
  const Scenario s = testing::scenario(model, d.devices, all, "cpu");
  Diagnostics found = check(s);
  if (!has_errors(found)) {
    const Workload w = prepare(s);
    LowerOptions options;
    options.grain = Grain::Op;
    const Training training = training_of_contexts();
    found = CpuBackend::check({w, lower(w, options), TaskPrices{}, &training});
  }
  std::string said;
  for (const Diagnostic& one : found)
    if (one.severity == Diagnostic::Severity::Error)
      said += one.message + "; try " + one.fix + "\n";
  return said;
}

const LongSequence kLongSequences[] = {
    {.dropout = true},
    {.family = "llama"},
    {.family = "mistral", .window = 5},
    {.family = "gpt_neox"},
    {.family = "bert"},
    {.family = "bert", .head = EncoderHead::Pooler},
    {.family = "bert", .head = EncoderHead::PoolerAndMaskedTokens},
    {.family = "t5", .dropout = true},
    {.family = "transformer"},
    {.family = "mixtral", .experts = 4},
    {.family = "deepseek_v3", .experts = 4},
    {.family = "mamba2", .mixer = Mixer::StateSpace},
    {.family = "mamba2", .mixer = Mixer::StateSpace, .groups = 2},
    {.family = "mamba2", .mixer = Mixer::StateSpace, .groups = 1},
    {.family = "llama", .mixer = Mixer::GatedDelta},
    {.family = "llama", .mixer = Mixer::GatedDelta, .groups = 2},
};

TEST(CpuContext, TrainsAsOneDevice) {
  const std::size_t count = testing::cases(std::size(kLongSequences), 1);
  std::size_t ran = 0, pair = 0;
  for (const LongSequence& tiny : testing::non_empty(std::span(kLongSequences, count))) {
    const Model model = long_model(tiny);
    const CpuRun alone = train_contexts(model, 1, {});
    for (const DividedSequence& d : testing::non_empty(kDividedSequences)) {
      // Each division meets a quarter of the models, and each model a quarter of the divisions.
      if (pair++ % 4 != 0) continue;
      SCOPED_TRACE(model.name + ": " + name_of(d));
      if (!refusal_of_contexts(model, d).empty()) continue;
      try {
        expect_as_alone(train_contexts(model, d.devices, d.settings), alone);
      } catch (const Error& error) {
        ADD_FAILURE() << describe(error);
      }
      ++ran;
    }
  }
  EXPECT_GE(ran, 24 * count / 4);
}

TEST(CpuContext, DividesExpertsToo) {
  const Model model = long_model({.family = "mixtral", .experts = 4});
  const CpuRun alone = train_contexts(model, 1, {});
  for (const DividedSequence& d :
       {DividedSequence{2, {"cp=2", "ep=2"}}, DividedSequence{4, {"cp=2", "dp=2", "ep=4"}},
        DividedSequence{4, {"cp=2", "dp=2", "ep=2"}}}) {
    SCOPED_TRACE(name_of(d));
    expect_as_alone(train_contexts(model, d.devices, d.settings), alone);
  }
}

TEST(CpuContext, HoldsWhatThePlanStates) {
  const Model model = long_model({.family = "llama"});
  const std::span all(kDividedSequences);
  for (const DividedSequence& d :
       testing::non_empty(all.first(testing::cases(all.size(), all.size() / 4)))) {
    SCOPED_TRACE(name_of(d));
    if (!refusal_of_contexts(model, d).empty()) continue;
    CpuOptions options;
    options.processor_time = [now = Duration{}]() mutable {
      return now += std::chrono::microseconds{10};
    };
    const CpuRun run = train_contexts(model, d.devices, d.settings, options);
    for (std::uint32_t device = 0; device < static_cast<std::uint32_t>(run.program.devices);
         ++device) {
      const MemoryWave predicted = memory_wave(run.run.timeline, run.program, {device});
      const MemoryWave& held = run.run.waves[device];
      const auto peak = [](const MemoryWave& wave) {
        return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
      };
      EXPECT_NEAR(peak(held), peak(predicted), 0.02 * peak(predicted)) << "device " << device;
    }
  }
}

TEST(CpuContext, TrainsAnAsynchronousSchedule) {
  const Model model = long_model({.family = "llama"});
  const CpuRun alone = train_contexts(model, 2, {"pp=2", "schedule=pipedream"});
  const CpuRun divided = train_contexts(model, 4, {"cp=2", "pp=2", "schedule=pipedream"});
  expect_as_alone(divided, alone);
}

// A product, a layer of ReLUs and a head, on an input of this shape.
Model model_on(const Shape& shape) {
  Model model;
  model.name = "tokens";
  model.family = "mlp";
  model.tokens = false;
  model.sequence = 8;
  GraphBuilder start;
  start.graph.input = start.activation("x", shape);
  model.blocks.push_back(
      start.block("stem", 1, false, start.linear("in", start.graph.input, whole(4), false)));
  GraphBuilder layer;
  layer.graph.input = layer.activation("x", shape);
  const TensorId out = layer.node("relu", relu(), {layer.graph.input});
  const Shape made = layer.graph[out].shape;
  model.blocks.push_back(layer.block("layers", 1, true, out));
  GraphBuilder end;
  end.graph.input = end.activation("x", made);
  const TensorId logits = end.linear("fc", end.graph.input, whole(3), false);
  model.blocks.push_back(end.block("head", 1, false, end.loss(logits)));
  return model;
}

TEST(CpuContext, SaysWhatItCannotDivide) {
  const auto said = [](const Model& model) { return refusal_of_contexts(model, {2, {"cp=2"}}); };
  const Dim eight{8, Axis::Sequence, 0};
  EXPECT_EQ(said(model_on({eight, kBatch, whole(4)})), "");
  // The patches of an image of 7 x 7 and its class token, in ten pieces.
  TransformerSpec vit = family_spec("vit");
  vit.name = "tiny vit";
  vit.layers = 2, vit.hidden = 8, vit.heads = 4, vit.ffn = 8;
  EXPECT_EQ(refusal_of_contexts(build_vision_transformer(
                                    vit, {.image = 14, .patch = 2, .channels = 1, .classes = 3}),
                                {5, {"cp=5"}}),
            "a rank that has a part of a sequence runs ops on one token each, and attention, found "
            "embeddings (patch_tokens) of embedding; try cp=1\n");
  const std::string six = "cp=2 divides a sequence into 4 equal pieces, found 6 tokens in x of ";
  EXPECT_EQ(said(model_on({{6, Axis::Sequence, 0}, kBatch, whole(4)})),
            six + "stem; try cp=1\n" + six + "layers; try cp=1\n" + six + "head; try cp=1\n");
  const std::string second =
      "cp=2 divides a sequence as the first dimension of what flows through the model, found "
      "[batch, 8, 4] in x of ";
  EXPECT_EQ(
      said(model_on({kBatch, eight, whole(4)})),
      second + "stem; try cp=1\n" + second + "layers; try cp=1\n" + second + "head; try cp=1\n");
}

}  // namespace
}  // namespace trainyard
