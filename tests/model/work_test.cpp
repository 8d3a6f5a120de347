// Compares floating-point work and traffic of whole layers with the usual closed forms.
#include <gtest/gtest.h>

#include "core/model/op.h"
#include "core/model/ops.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "tests/model/half.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::kHalf;

double products(const Graph& graph, const Binding& binding, Pass pass, bool flash) {
  double flops = 0;
  for (const Node& node : graph.nodes) {
    const Work work = node.op->work({graph, node, binding, kHalf, flash}, pass);
    EXPECT_GE(work.read.value, 0);
    EXPECT_GE(work.written.value, 0);
    if (work.kind == WorkKind::Product || work.kind == WorkKind::Attention)
      flops += work.flops.value;
  }
  return flops;
}

// Narayanan et al. 2021: 24 B s h^2 + 4 B s^2 h a layer forward, twice that backward.
TEST(Work, GptLayerMatchesTheFormulaOfMegatron) {
  const Model gpt3 = zoo_model("gpt3-175b");
  const Graph& layer = gpt3.blocks[1].graph;
  const double b = 2, s = 2048, h = 12288, forward = 24 * b * s * h * h + 4 * b * s * s * h;
  for (int tp : {1, 2, 4, 8}) {
    const Binding binding{2, 2048, tp, 1, 1, tp > 1};
    EXPECT_EQ(products(layer, binding, Pass::Forward, false), forward / tp);
    EXPECT_EQ(products(layer, binding, Pass::BackwardInput, false) +
                  products(layer, binding, Pass::BackwardWeight, false),
              2 * forward / tp);
  }
}

TEST(Work, CausalFusedAttentionDoesHalfAndTwoAndAHalfTimesThatBackward) {
  const Model gpt3 = zoo_model("gpt3-175b");
  const Graph& layer = gpt3.blocks[1].graph;
  const Binding binding{1, 2048, 1, 1, 1, false};
  for (const Node& node : testing::non_empty(layer.nodes)) {
    if (node.op != &attention()) continue;
    const LocalNode local{layer, node, binding, kHalf, true};
    const double forward = 4.0 * 2048 * 2048 * 12288 / 2;
    EXPECT_EQ(node.op->work(local, Pass::Forward).flops.value, forward);
    EXPECT_EQ(node.op->work(local, Pass::BackwardInput).flops.value, 2.5 * forward);
    EXPECT_EQ(node.op->work(local, Pass::BackwardWeight), Work{});
  }
}

TEST(Work, ASlidingWindowBoundsTheKeysThatAreSeen) {
  const Model mistral = zoo_model("mistral-7b");
  const Graph& layer = mistral.blocks[1].graph;
  for (const Node& node : testing::non_empty(layer.nodes)) {
    if (node.op != &attention()) continue;
    const auto flops = [&](std::int64_t s) {
      const Binding binding{1, s, 1, 1, 1, false};
      return node.op->work({layer, node, binding, kHalf, true}, Pass::Forward).flops.value;
    };
    EXPECT_EQ(flops(4096), 4.0 * 4096 * 4096 * 4096 / 2);
    EXPECT_EQ(flops(16384), 4.0 * 4096 * (16384.0 * 4096 - 4096.0 * 4096 / 2));  // the first window
                                                                                 // is a triangle
  }
}

TEST(Work, RoutedExpertsDoTheWorkOfTopK) {
  const Model mixtral = zoo_model("mixtral-8x7b");
  const Graph& layer = mixtral.blocks[1].graph;
  const double tokens = 4096, h = 4096, f = 14336;
  for (int ep : {1, 2, 4, 8}) {
    const Binding binding{1, 4096, 1, 1, ep, false};
    double flops = 0;
    for (const Node& node : testing::non_empty(layer.nodes))
      if (node.op == &routed_matmul()) {
        const Work work = node.op->work({layer, node, binding, kHalf, true}, Pass::Forward);
        EXPECT_EQ(work.count, 8 / ep);
        EXPECT_EQ(work.m, 4096 * 2 * ep / 8);
        flops += work.flops.value;
      }
    EXPECT_EQ(flops, 2 * tokens * 2 * 3 * h * f)
        << "loads are balanced, so ep does not change a rank's work";
  }
}

TEST(Work, TheSumsOfAllPassesAreSixTimesParametersAndTokens) {
  const Model llama = zoo_model("llama-3-8b");
  const Graph& layer = llama.blocks[1].graph;
  const Binding binding{1, 8192, 1, 1, 1, false};
  double flops = 0;
  for (const Node& node : layer.nodes)
    if (node.op == &matmul())
      for (Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight})
        flops += node.op->work({layer, node, binding, kHalf, true}, pass).flops.value;
  const double weights = static_cast<double>(parameters(llama.blocks[1])) - 2 * 4096;  // without
                                                                                       // the norms
  EXPECT_EQ(flops, 6 * weights * 8192);
}

// ResNet-50 at 224 x 224 is 4.09 G multiply-adds; VGG-16 15.5 G.
TEST(Work, ConvolutionalNetworksHaveTheirPublishedMultiplyAdds) {
  const auto multiply_adds = [](const char* name) {
    const Model model = zoo_model(name);
    double flops = 0;
    for (const Block& block : model.blocks)
      flops += block.count * products(block.graph, Binding{}, Pass::Forward, false);
    return flops / 2;
  };
  EXPECT_NEAR(multiply_adds("resnet-50"), 4.09e9, 0.01e9);
  EXPECT_NEAR(multiply_adds("vgg-16"), 15.5e9, 0.05e9);
}

TEST(Work, EveryOpOfEveryModelHasFiniteWorkInEachPass) {
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Model model = zoo_model(entry.name);
    const Binding binding{2, std::max<std::int64_t>(16, model.sequence / 4), 2, 2, 2, true};
    for (const Block& block : testing::non_empty(model.blocks))
      for (const Node& node : testing::non_empty(block.graph.nodes))
        for (Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight}) {
          const Work work = node.op->work({block.graph, node, binding, kHalf, true}, pass);
          EXPECT_TRUE(work.flops.value >= 0 && work.flops.value < 1e20)
              << entry.name << " " << node.name;
          EXPECT_TRUE(work.read.value >= 0 && work.written.value >= 0)
              << entry.name << " " << node.name;
        }
  }
}

TEST(Work, WeightWorkExistsWhereThereAreWeights) {
  for (const char* name :
       {"llama-3-8b", "gpt2", "mixtral-8x7b", "resnet-50", "t5-small", "deepseek-v3", "vit-b16"}) {
    const Model model = zoo_model(name);
    const Binding binding{1, 128, 1, 1, 1, false};
    for (const Block& block : testing::non_empty(model.blocks))
      for (const Node& node : testing::non_empty(block.graph.nodes)) {
        bool trained = false;
        for (TensorId id : node.inputs) trained |= block.graph[id].kind == TensorKind::Parameter;
        if (node.op == &attention()) continue;  // its position biases come out of BackwardInput
        const Work work =
            node.op->work({block.graph, node, binding, kHalf, true}, Pass::BackwardWeight);
        EXPECT_EQ(work.read.value > 0, trained) << name << " " << node.name;
      }
  }
}

}  // namespace
}  // namespace trainyard
