#include <gtest/gtest.h>

#include <algorithm>

#include "core/cost/roofline.h"
#include "core/methods/precision/narrow_products.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::scenario;

constexpr std::int64_t kFlexTokens = 512, kFlexHidden = 1024;
constexpr std::int64_t kFlexMatrices = 12 * kFlexHidden * kFlexHidden;

Workload prepared_flex(testing::Settings settings, std::int64_t devices = 1) {
  settings.insert(settings.begin(), "precision=flex16");
  return prepare(scenario(gpt(), devices, settings, "h100-sxm"));
}

TEST(Flex16, AnElementHasTwoBytes) {
  EXPECT_EQ(narrow_bytes(DType::Flex16, 33), 66_B);
  EXPECT_EQ(bytes_of(DType::Flex16), 2);
  EXPECT_EQ(parse_dtype("flex16"), DType::Flex16);
}

// Weights in 4 bytes are the ones that are updated, so that there is no master copy beside them.
TEST(Flex16, MultipliesIntegersAndDoesEverythingElseInFourBytes) {
  const Workload w = prepared_flex({});
  EXPECT_EQ(w.layout.precision.parameter, DType::F32);
  EXPECT_EQ(w.layout.precision.activation, DType::F32);
  EXPECT_FALSE(w.layout.precision.master_weights);
  int products = 0;
  for (const Body& body : testing::non_empty(w.bodies)) {
    const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
    for (const auto* ops : {&body.forward, &body.backward})
      for (const BodyOp& o : *ops) {
        if (o.communication || !o.node.valid() || o.work.kind != WorkKind::Product) continue;
        EXPECT_EQ(o.work.math, graph[o.node].op->name == "matmul" ? DType::Flex16 : DType::F32)
            << o.name;
        products += o.work.math == DType::Flex16 ? 1 : 0;
      }
  }
  EXPECT_EQ(products, 3 * (4 + 1));  // those of a layer, and the head
}

TEST(Flex16, CastsAnOperandOnceForAllProducts) {
  const Workload w = prepared_flex({});
  const Body& body = layer(w);
  const auto cast = std::find_if(body.forward.begin(), body.forward.end(), is_cast);
  ASSERT_NE(cast, body.forward.end());
  EXPECT_EQ(cast->work.read.value, 4 * kFlexTokens * kFlexHidden);
  EXPECT_EQ(cast->work.written.value, 2 * kFlexTokens * kFlexHidden);
  const BodyOp& product = *std::next(cast);
  EXPECT_EQ(product.work.read.value,
            2 * (kFlexTokens * kFlexHidden + 3 * kFlexHidden * kFlexHidden));
  EXPECT_EQ(product.work.written.value, 4 * kFlexTokens * 3 * kFlexHidden);
}

// Norm outputs and the activation that only products keep halve; attention's output, which fused
// attention keeps too, is kept a second time. Weights have a copy in 2 bytes.
TEST(Flex16, KeepsOperandsInTwoBytes) {
  const Workload wide = prepared_flex({"precision=fp32"}), flex = prepared_flex({});
  EXPECT_EQ((saved_bytes(layer(wide)) - saved_bytes(layer(flex))).value,
            (2 - 2 + 2 + 8) * kFlexTokens * kFlexHidden);
  EXPECT_EQ((state_bytes(layer(flex), flex.layout).weights -
             state_bytes(layer(wide), wide.layout).weights)
                .value,
            2 * kFlexMatrices);
  EXPECT_EQ(state_bytes(layer(flex), flex.layout).optimizer,
            state_bytes(layer(wide), wide.layout).optimizer);
}

// No device states units for 16-bit integers.
TEST(Flex16, IsPricedByThePeakOfFp32) {
  const Device device = scenario(gpt(), 1, {}, "h100-sxm").cluster.device;
  Work integers{.flops = Flops{1e12}, .kind = WorkKind::Product, .math = DType::Flex16};
  Work floats = integers;
  floats.math = DType::F32;
  EXPECT_EQ(peak(device, DType::Flex16).value, peak(device, DType::F32).value);
  EXPECT_EQ(arithmetic_seconds(integers, device, device.efficiency, 0),
            arithmetic_seconds(floats, device, device.efficiency, 0));
}

// The windows of a convolution repeat elements, which are cast once.
TEST(Flex16, CastsConvolutionsToo) {
  const Workload w = prepare(scenario(testing::tiny_convnet(2), 1, {"precision=flex16"}, "cpu"));
  int convolutions = 0;
  for (const Body& body : w.bodies) {
    const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
    for (const BodyOp& o : body.forward) {
      if (o.communication || !is_cast(o) || graph[o.node].op->name != "convolution") continue;
      ++convolutions;
      EXPECT_EQ(o.work.read.value,
                4 * local_elements(graph[graph[o.node].inputs[0]].shape, w.layout.binding));
    }
  }
  EXPECT_GT(convolutions, 0);
}

TEST(Flex16, RanksAgreeOnExponentsAtTheEndOfAStep) {
  const auto found = [](Model model, testing::Settings words) {
    words.insert(words.begin(), "precision=flex16");
    std::string all;
    for (const Diagnostic& d :
         testing::check_of("flex16", scenario(std::move(model), 2, words, "cpu")))
      all += d.message + "; try " + d.fix + "\n";
    return all;
  };
  EXPECT_EQ(found(gpt(), {"dp=2"}), "");
  EXPECT_EQ(found(gpt(), {"pp=2"}), "");
  EXPECT_EQ(found(gpt(), {"pp=2", "schedule=pipedream"}),
            "the exponent that 16-bit integers share is agreed at the end of a step, and pipedream "
            "updates while microbatches are under way; try schedule=1f1b\n");
}

}  // namespace
}  // namespace trainyard
