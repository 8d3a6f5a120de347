// Tests what plans of a named framework hold beyond what their methods require, in the ledger
// itself, and checks published state by arithmetic.
#include <gtest/gtest.h>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/memory/process_bytes.h"
#include "core/methods/settings/settings.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::gpt;

Workload planned(const Model& model, std::int64_t devices, const std::string& settings) {
  Scenario s{model, make_cluster(device("a100-sxm-80"), devices), {}};
  for (std::size_t from = 0; from < settings.size();) {
    const std::size_t end = std::min(settings.find(' ', from), settings.size());
    apply_setting(s.plan, settings.substr(from, end - from));
    from = end + 1;
  }
  return prepare(s);
}

Bytes sum(const StateBytes& s) { return s.weights + s.gradients + s.optimizer; }

struct Published {
  const char* name;
  testing::GptSizes sizes;
  int pp;
  double gib;  // weights, gradients and optimizer state of the layers of a device, 18 bytes each
};

class WeightsAndState : public ::testing::TestWithParam<Published> {};

// Korthikanti et al. 2022, figure 1: 12 L h^2 / (t p) parameters.
TEST_P(WeightsAndState, AreThePapersWithinAHundredth) {
  const Published& p = GetParam();
  const Workload w =
      planned(gpt(p.sizes), 8 * p.pp,
              "tp=8 pp=" + std::to_string(p.pp) +
                  " precision=fp16 gradient-dtype=fp32 framework=megatron flash-attention=off");
  Bytes layers{};
  for (const auto& [block, state] : stage_state(w, StageId{0}).blocks)
    if (w.scenario.model.blocks[static_cast<std::size_t>(block)].layer) layers += sum(state);
  const double gib = static_cast<double>(layers.value) / (1024.0 * 1024 * 1024);
  EXPECT_NEAR(gib / p.gib, 1.0, 0.01);
}

INSTANTIATE_TEST_SUITE_P(
    Korthikanti, WeightsAndState,
    ::testing::Values(Published{"22B", {48, 6144, 64, 2048}, 1, 45.5625},
                      Published{"175B", {96, 12288, 96, 2048}, 8, 45.5625},
                      Published{"530B", {105, 20480, 128, 2048}, 35, 31.640625},
                      Published{"1T", {128, 25600, 160, 2048}, 64, 32.958984375}),
    [](const auto& p) { return std::string(p.param.name); });

// Bytes a parameter of a rank, of d replicas.
double bytes_each(const std::string& settings, std::int64_t d) {
  const Workload w = planned(gpt({4, 1024, 16, 2048}), d, settings);
  std::int64_t parameters = 0;
  for (const Workload::Run& run : w.runs[0])
    parameters += w.bodies[static_cast<std::size_t>(run.body)].parameters.dense * run.count;
  return static_cast<double>(sum(stage_state(w, StageId{0}).total).value) /
         static_cast<double>(parameters);
}

// What a layer keeps for a token, in bytes a unit of width.
double kept_each(const std::string& settings) {
  const Workload w = planned(gpt({4, 1024, 16, 2048}), 1, "micro-batch=1 precision=" + settings);
  for (const Body& body : w.bodies)
    if (w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer)
      return static_cast<double>(saved_bytes(body).value) / (2048.0 * 1024);
  return 0;
}

TEST(FrameworkMemory, UnderAutocastTheInputsOfBothNormsOfALayerAreInFourBytes) {
  EXPECT_NEAR(kept_each("bf16 framework=pytorch") - kept_each("bf16"), 2 * 2, 1e-9);
  EXPECT_NEAR(kept_each("bf16 framework=pytorch kernels=compiled"), kept_each("bf16"), 1e-9);
  EXPECT_NEAR(kept_each("bf16-nearest framework=pytorch"), kept_each("bf16-nearest"), 1e-9);
  EXPECT_NEAR(kept_each("fp32 framework=pytorch"), kept_each("fp32"), 1e-9);
}

TEST(FrameworkMemory, BytesAParameterAreTheDocumentedOnes) {
  EXPECT_NEAR(bytes_each("zero=1 precision=fp16 gradient-dtype=fp16", 8), 2 + 2 + 12.0 / 8, 0.01);
  EXPECT_NEAR(bytes_each("framework=megatron zero=1", 8), 2 + 4 + 12.0 / 8, 0.01);
  EXPECT_NEAR(bytes_each("framework=megatron", 8), 18, 0.01);
  EXPECT_NEAR(bytes_each("framework=deepspeed zero=1 precision=fp16 gradient-dtype=fp16", 8),
              2 + 2 + 18.0 / 8, 0.01);
  EXPECT_NEAR(bytes_each("framework=nanotron zero=1", 8), 2 + 6 + 12.0 / 8, 0.01);
  EXPECT_NEAR(bytes_each("framework=torchtitan zero=3", 8), 16.0 / 8, 0.01);
  EXPECT_NEAR(bytes_each("zero=3", 8), 18.0 / 8, 0.01);
}

TEST(FrameworkMemory, DeepSpeedKeepsTheOutputOfAStage) {
  const Model model = gpt({8, 1024, 16, 2048});
  const std::string plan = "pp=4 micro-batch=2 global-batch=16 precision=fp16 recompute=full";
  const Workload plain = planned(model, 4, plan),
                 deepspeed = planned(model, 4, plan + " framework=deepspeed");
  const Bytes block{2 * 2048 * 1024 * 2};
  EXPECT_EQ(phase_bytes(deepspeed, StageId{1}).until_input,
            phase_bytes(plain, StageId{1}).until_input + block);
  // Both grains hold these bytes.
  for (const Grain grain : {Grain::Order, Grain::Op}) {
    const Program p = lower(deepspeed, {.grain = grain});
    bool found = false;
    for (const Buffer& b : p.buffers) {
      found = found || p.name(b.name) == kStageTensors;
      for (std::uint32_t i = 0; i < b.parts; ++i)
        found = found || p.name(p.parts[b.first_part + i].name) == kStageTensors;
    }
    EXPECT_TRUE(found);
  }
}

TEST(FrameworkMemory, NanotronKeepsGatheredInputsAndGathersOnce) {
  const Model model = gpt({4, 1024, 16, 2048});
  const std::string plan = "tp=4 sequence-parallel=on micro-batch=2 global-batch=2";
  const auto gathers = [](const Workload& w) {
    int count = 0;
    for (const Body& body : w.bodies)
      for (const BodyOp& op : body.backward)
        count += op.communication && !op.of_gradient && op.collective == CollectiveKind::AllGather;
    return count;
  };
  const Workload plain = planned(model, 4, plan),
                 nanotron = planned(model, 4, plan + " framework=nanotron");
  EXPECT_GT(gathers(plain), 0);
  EXPECT_EQ(gathers(nanotron), 0);
  // Each layer keeps three quarters more of the inputs of two products.
  const Bytes block{2 * 2048 * 1024 * 2};
  const auto layer = [](const Workload& w) {
    for (const Body& body : w.bodies)
      if (w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer)
        return saved_bytes(body);
    return Bytes{};
  };
  EXPECT_EQ(layer(nanotron) - layer(plain), Bytes{block.value * 2 * 3 / 4});
}

// The head costs as many layers as it has their parameters; the layer that crosses a stage's share
// is still the stage's.
TEST(FrameworkMemory, NanotronDividesLayersByTheirProducts) {
  TransformerSpec spec = family_spec("llama");
  spec.name = "llama-1.34B";
  spec.layers = 16, spec.hidden = 2048, spec.heads = 32, spec.ffn = 8192;
  spec.vocab = 131072, spec.sequence = 4096;
  const Workload w = planned(build_decoder(spec), 2, "pp=2 framework=nanotron global-batch=8");
  int first = 0;
  for (const LayerRun& run : w.table[0].runs)
    if (w.scenario.model.blocks[static_cast<std::size_t>(run.block)].layer) first += run.count;
  EXPECT_EQ(first, 11);
}

TEST(FrameworkMemory, RecomputationByOperatorKeepsEverySecondProduct) {
  TransformerSpec spec = family_spec("llama");
  spec.name = "llama-8B";
  spec.layers = 2, spec.hidden = 4096, spec.heads = 32, spec.kv_heads = 8, spec.ffn = 14336;
  spec.vocab = 1024, spec.sequence = 1024;
  const Model model = build_decoder(spec);
  const std::string plan = "recompute=op micro-batch=1 global-batch=1 kernels=";
  const Workload w = planned(model, 1, plan + "eager"),
                 compiled = planned(model, 1, plan + "compiled");
  // The last product gives nothing but the layer's output.
  EXPECT_EQ(phase_bytes(w, StageId{0}).until_input - phase_bytes(compiled, StageId{0}).until_input,
            Bytes{2 * 1024 * 4096 * 2});
  for (const Body& body : testing::non_empty(w.bodies)) {
    if (!w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer) continue;
    // Input, queries, values, attention's output and statistics, gate and down in 2 bytes.
    const std::int64_t token = 2 * (4096 + 4096 + 1024 + 4096 + 14336 + 4096) + 4 * 32;
    EXPECT_EQ(saved_bytes(body), Bytes{1024 * token});
    int products = 0;
    for (const BodyOp& op : body.backward)
      products += op.recomputed && op.work.kind == WorkKind::Product;
    EXPECT_EQ(products, 3);
  }
}

TEST(ProcessBytes, AreTheContextOfAPlanWithoutFramework) {
  const Workload w = planned(gpt({4, 1024, 16, 2048}), 1, "global-batch=4");
  const auto cost = physical_cost_model(w.scenario);
  const ProcessMemory process = cost->process_memory(w.scenario.cluster.device);
  EXPECT_EQ(process, plain_process(w.scenario.cluster.device));
  EXPECT_EQ(process_bytes(w, process).front(), w.scenario.cluster.device.context.value);
  const StepEstimate e = estimate_step(w, *cost);
  EXPECT_EQ(e.reserved.front(), total(e.memory.front()));
}

TEST(ProcessBytes, OfAFrameworkStandInEstimateAndProgramAlike) {
  const Workload w = planned(gpt({8, 1024, 16, 2048}), 8,
                             "pp=2 tp=2 zero=1 framework=megatron-deepspeed "
                             "recompute=full sequence-parallel=on global-batch=16");
  const auto cost = physical_cost_model(w.scenario);
  const ProcessMemory process = cost->process_memory(w.scenario.cluster.device);
  const std::vector<Bytes> beside = process_bytes(w, process);
  const StepEstimate e = estimate_step(w, *cost);
  const Program p = lower(w, {.framework = beside});
  for (std::size_t d = 0; d < beside.size(); ++d) {
    EXPECT_GT(beside[d], process.context);
    EXPECT_EQ(e.memory[d][static_cast<std::size_t>(Category::Framework)], beside[d]);
    EXPECT_GT(e.reserved[d], total(e.memory[d]));
    Bytes held{};
    for (const Buffer& b : p.buffers)
      if (b.category == Category::Framework && b.device.value == d) held += b.bytes;
    EXPECT_EQ(held, beside[d]);
  }
}

TEST(ProcessBytes, ANearlyFullDeviceIsSlower) {
  ProcessMemory process;
  process.pressure_onset = 0.9, process.pressure_slope = 2;
  const Bytes capacity{1000};
  EXPECT_EQ(memory_slowdown(Bytes{900}, capacity, process), 1.0);
  EXPECT_NEAR(memory_slowdown(Bytes{950}, capacity, process), 1.1, 1e-12);
  EXPECT_NEAR(memory_slowdown(Bytes{2000}, capacity, process), 1.2, 1e-12);
}

}  // namespace
}  // namespace trainyard
