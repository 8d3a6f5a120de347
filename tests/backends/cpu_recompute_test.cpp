// Recomputation gives the same results: training on the CPU backend is equal bit for bit whatever a
// layer keeps, and what it keeps equals the ledger.
#include <gtest/gtest.h>

#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;

Training two_steps() {
  Training t;
  t.rate = 0.1;
  t.steps = 2;
  return t;
}

CpuRun run(const Model& model, std::int64_t devices, Settings settings, std::string_view policy) {
  const std::string words = "recompute=" + std::string(policy);
  settings.push_back(words);
  return train_on_cpu(model, devices, settings, two_steps());
}

void expect_same_bits(const CpuRun& a, const CpuRun& b) {
  EXPECT_EQ(a.run.losses, b.run.losses);
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t t = 0; t < a.parameters.size(); ++t)
    EXPECT_EQ(a.parameters[t].values, b.parameters[t].values) << a.parameters[t].name;
}

void expect_predicted_memory(const CpuRun& t) {
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(t.program.devices); ++d) {
    const MemoryWave predicted = memory_wave(t.run.timeline, t.program, DeviceId{d});
    for (const Category kept : {Category::Activations, Category::Recomputed}) {
      const auto most = [&](const MemoryWave& wave) {
        Bytes found{};
        for (const MemoryWave::Sample& s : wave.samples)
          found = std::max(found, s.bytes[static_cast<std::size_t>(kept)]);
        return found;
      };
      EXPECT_EQ(most(t.run.waves[d]), most(predicted)) << to_string(kept) << " of device " << d;
    }
  }
}

const Graph& layer_graph(const Model& model) {
  for (const Block& block : model.blocks)
    if (block.layer) return block.graph;
  throw std::logic_error("no layers");
}

std::vector<Model> models() {
  return {testing::tiny_mlp(4), testing::tiny_convnet(4), testing::tiny_transformer(),
          testing::tiny_transformer({.family = "llama"})};
}

TEST(CpuRecompute, EveryPolicyTrainsBitForBit) {
  int runs = 0;
  for (const Model& model : testing::non_empty(models()))
    for (const char* flash : {"flash-attention=on", "flash-attention=off"}) {
      const Settings one = {"global-batch=4", "micro-batch=2", "optimizer=adamw", flash};
      const CpuRun none = run(model, 1, one, "none");
      for (const char* policy :
           {"selective", "op", "full", "keep=input", "full*1,op*2,keep=input", "blocks=2"}) {
        SCOPED_TRACE(model.name + " " + flash + " " + policy);
        const CpuRun again = run(model, 1, one, policy);
        expect_same_bits(again, none);
        expect_predicted_memory(again);
        ++runs;
      }
    }
  EXPECT_EQ(runs, 4 * 2 * 6);
}

// Tries every set of two nodes that a layer may keep, and every set of all but one.
TEST(CpuRecompute, AnyNodesMayBeKept) {
  for (const Model& model : testing::non_empty(models())) {
    const Settings one = {"global-batch=2", "micro-batch=1", "optimizer=momentum",
                          "flash-attention=off"};
    const CpuRun none = run(model, 1, one, "none");
    const std::vector<Node>& nodes = layer_graph(model).nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::string two = "keep=" + nodes[i].name, others = "keep=input";
      two += "+" + nodes[(i * 7 + 3) % nodes.size()].name;
      for (std::size_t j = 0; j < nodes.size(); ++j)
        if (j != i) others += "+" + nodes[j].name;
      for (const std::string& policy : {two, others}) {
        SCOPED_TRACE(model.name + " " + policy);
        const CpuRun again = run(model, 1, one, policy);
        expect_same_bits(again, none);
        expect_predicted_memory(again);
      }
    }
  }
}

TEST(CpuRecompute, PoliciesByStageTrainBitForBitUnderEverySchedule) {
  for (const Model& model : {testing::tiny_mlp(8), testing::tiny_transformer({.layers = 8})})
    for (const Settings& plan :
         {Settings{"schedule=1f1b", "pp=2"}, Settings{"schedule=zb-h1", "pp=2"},
          Settings{"schedule=zb-v", "pp=2", "virtual-stages=2"},
          Settings{"schedule=dualpipe", "pp=2"}, Settings{"pp=2", "tp=2"},
          Settings{"pp=2", "zero=3", "dp=2"}}) {
      Settings all = {"global-batch=8", "micro-batch=1", "optimizer=adamw"};
      all.insert(all.end(), plan.begin(), plan.end());
      const bool tensor = plan.back() == "tp=2", chunks = plan.back() == "virtual-stages=2";
      if (tensor && model.name == "tiny mlp") continue;
      if (tensor) all.push_back("sequence-parallel=off");
      const std::int64_t devices = tensor || plan.back() == "dp=2" ? 4 : 2;
      const CpuRun none = run(model, devices, all, "none");
      const CpuRun again = run(model, devices, all,
                               chunks ? "full*1,keep=input/op/none/keep=input"
                                      : "full*1,keep=input*2,none/op*1,keep=input");
      SCOPED_TRACE(model.name + " " + std::string(plan.front()) + " " + std::string(plan.back()));
      expect_same_bits(again, none);
      expect_predicted_memory(again);
    }
}

// The bytes that a stage holds between forward and backward are those that its layers' policies
// keep.
TEST(CpuRecompute, StoredActivationsAreThoseThatThePoliciesKeep) {
  const Model model = testing::tiny_transformer({.layers = 16});
  const Settings one = {"global-batch=1", "micro-batch=1", "optimizer=sgd"};
  const auto stored = [&](std::string_view policy) {
    const CpuRun t = run(model, 1, one, policy);
    Bytes most{}, kept{};
    for (const MemoryWave::Sample& s : t.run.waves[0].samples)
      most = std::max(most, s.bytes[static_cast<std::size_t>(Category::Activations)]);
    for (const Workload::Run& layers : t.workload.runs[0])
      kept += saved_bytes(t.workload.bodies[static_cast<std::size_t>(layers.body)]) * layers.count;
    EXPECT_EQ(most, kept) << policy;
    return most;
  };
  Bytes before = stored("none");
  for (const char* policy : {"full*4,none", "full*8,none", "full*12,none", "full"}) {
    const Bytes now = stored(policy);
    EXPECT_LT(now, before) << policy;
    before = now;
  }
  EXPECT_LT(stored("keep=input"), stored("keep=attention"));
}

}  // namespace
}  // namespace trainyard
