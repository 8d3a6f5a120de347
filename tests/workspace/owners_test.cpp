// Tests the owners of the peak: the parts sum to the whole, and each equals the model's formula.
#include "core/result/owners.h"

#include <gtest/gtest.h>

#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/workspace.h"

namespace trainyard {
namespace {

Owners owners_of(const std::vector<std::string>& settings,
                 const std::string& model = "llama-3-8b") {
  return owners(*run_once(open({model, "h100-sxm:8", "", settings}), {}));
}

Bytes activations(const Owners& o) {
  return o.categories[static_cast<std::size_t>(Category::Activations)];
}

const ModuleOwner* find(const Owners& o, const std::string& module) {
  for (const ModuleOwner& m : o.modules)
    if (m.block == "layers" && m.module == module) return &m;
  return nullptr;
}

TEST(Owners, ModulesSumToTheActivations) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"zero=3"},
        {"pp=4", "global-batch=32"},
        {"pp=4", "schedule=zb-h1", "global-batch=32"},
        {"pp=4", "schedule=interleaved", "virtual-stages=2", "global-batch=32"},
        {"tp=8", "recompute=full"},
        {"zero=3", "recompute=blocks=8"}}) {
    const Owners o = owners_of(settings);
    Bytes sum{};
    for (const ModuleOwner& m : o.modules) sum += m.bytes;
    for (const auto& [name, bytes] : o.others) sum += bytes;
    EXPECT_EQ(sum, activations(o)) << settings.front();
    for (std::size_t i = 1; i < o.modules.size(); ++i)
      EXPECT_GE(o.modules[i - 1].bytes, o.modules[i].bytes);
  }
}

// A split backward holds gradients from input pass to weight pass; no module made them.
TEST(Owners, GradientsForWeightsHaveTheirOwnName) {
  const Owners o = owners_of({"pp=4", "schedule=zb-h1", "global-batch=32"});
  ASSERT_FALSE(o.others.empty());
  EXPECT_EQ(o.others.front().first, "gradients for weights");
}

// 32 layers keep gate_proj's output: 8192 tokens x 14336 x 2 bytes each.
TEST(Owners, AProjectionKeepsItsOutput) {
  const Owners o = owners_of({"zero=3", "seq=8192"});
  const ModuleOwner* gate = find(o, "gate_proj");
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(gate->bytes.value, 32ll * 8192 * 14336 * 2);
  EXPECT_EQ(gate->layers, 32);
  EXPECT_EQ(gate->microbatches, 1);
  EXPECT_EQ(gate->kind, "matmul");
}

// The first of four stages has four microbatches in flight, in 8 layers.
TEST(Owners, CountsTheMicrobatchesInFlight) {
  const Owners o = owners_of({"pp=4", "global-batch=32", "seq=8192"});
  const ModuleOwner* gate = find(o, "gate_proj");
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(o.device, DeviceId{0});
  EXPECT_EQ(gate->microbatches, 4);
  EXPECT_EQ(gate->layers, 8);
  EXPECT_EQ(gate->bytes.value, 4ll * 8 * 8192 * 14336 * 2);
}

// A layer of 218112000 parameters in two bytes, its gradients in four.
TEST(Owners, UnitsAreGatheredInFull) {
  const Owners o = owners_of({"zero=3"});
  ASSERT_EQ(o.units.size(), 3u);
  const UnshardedUnit& layer = o.units.back();
  EXPECT_EQ(layer.block, "layers");
  EXPECT_EQ(layer.layers, 32);
  EXPECT_EQ(layer.weights.value, 2ll * 218112000);
  EXPECT_EQ(layer.gradients.value, 4ll * 218112000);
  EXPECT_FALSE(layer.stays);
  EXPECT_TRUE(o.replicated.empty());
  EXPECT_GE(o.unsharded_most, o.unsharded_now);
  EXPECT_TRUE(owners_of({"zero=3", "reshard-after-forward=off"}).units.back().stays);
}

TEST(Owners, WhatIsNotDividedStandsOnEveryReplica) {
  const auto names = [](const Owners& o) {
    std::string text;
    for (const auto& [name, bytes] : o.replicated) text += name + ",";
    return text;
  };
  EXPECT_EQ(names(owners_of({"zero=0"})), "weights,gradients,optimizer state,");
  EXPECT_EQ(names(owners_of({"zero=1"})), "weights,gradients,");
  EXPECT_EQ(names(owners_of({"zero=2"})), "weights,");
  EXPECT_EQ(names(owners_of({"tp=8"})), "");  // one replica
}

}  // namespace
}  // namespace trainyard
