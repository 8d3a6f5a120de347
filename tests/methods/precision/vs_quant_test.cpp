#include <gtest/gtest.h>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/precision/narrow_products.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::scenario;

Workload in_vectors(const testing::Settings& more = {}, std::int64_t devices = 1) {
  testing::Settings words = {"precision=vs-quant"};
  words.insert(words.end(), more.begin(), more.end());
  return prepare(scenario(gpt(), devices, words, "h100-sxm"));
}

TEST(VsQuant, AnElementTakesItsBitsAndAShareOfAScale) {
  const VectorFormat format{.weights = 4, .activations = 8, .vector = 16, .scale_bits = 4};
  EXPECT_EQ(format.weight_bytes(32), 17_B);
  EXPECT_EQ(format.activation_bytes(32), 33_B);
  EXPECT_EQ(format.weight_bytes(1), 1_B);
  EXPECT_EQ(format.weight_bytes(1 << 20).value, (1 << 20) / 32 * 17);
  EXPECT_EQ((VectorFormat{3, 3, 64, 6}.weight_bytes(64)), Bytes{(3 * 64 + 6 + 7) / 8});
  const Workload w = in_vectors({"vs-quant.weight-bits=3", "vs-quant.vector=32"});
  const auto found = vector_format(w.scenario.plan);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->weights, 3);
  EXPECT_EQ(found->activations, 4);
  EXPECT_EQ(found->vector, 32);
  EXPECT_FALSE(vector_format(prepare(scenario(gpt(), 1, {}, "h100-sxm")).scenario.plan));
}

// One copy of a weight beside its bf16, and one of an activation: backward reads what forward read.
TEST(VsQuant, KeepsOneCopyInFewBits) {
  const Workload four = in_vectors(),
                 eight = in_vectors({"vs-quant.weight-bits=8", "vs-quant.activation-bits=8"});
  EXPECT_NEAR(layer(four).narrow.kept, 2 + 4.25 / 8, 1e-12);
  EXPECT_NEAR(layer(eight).narrow.kept, 2 + 8.25 / 8, 1e-12);
  const Workload bf16 = prepare(scenario(gpt(), 1, {"precision=bf16"}, "h100-sxm"));
  EXPECT_LT(saved_bytes(layer(four)), saved_bytes(layer(eight)));
  EXPECT_LT(saved_bytes(layer(eight)), saved_bytes(layer(bf16)));
  for (std::size_t i = 0; i < layer(four).saved.size(); ++i) {
    const SavedTensor &kept = layer(four).saved[i], &wide = layer(bf16).saved[i];
    EXPECT_EQ(kept.bytes.value,
              kept.narrow ? wide.bytes.value / 2 * 17 / 32 : std::max(kept.bytes, wide.bytes).value)
        << i;
  }
  constexpr std::int64_t matrices = 12 * 1024 * 1024;
  EXPECT_EQ(state_bytes(layer(four), four.layout).weights.value,
            2 * layer(four).parameters.dense + matrices / 32 * 17);
}

// Forward alone is in whole numbers, and its casts are one an operand.
TEST(VsQuant, ForwardIsInWholeNumbersAndBackwardInBf16) {
  const Workload w = in_vectors(),
                 bf16 = prepare(scenario(gpt(), 1, {"precision=bf16"}, "h100-sxm"));
  EXPECT_EQ(w.layout.precision.math, DType::I8);
  int products = 0;
  for (const BodyOp& op : layer(w).forward) {
    if (op.communication || op.work.kind != WorkKind::Product || is_cast(op)) continue;
    const bool narrow = multiplies_narrow(w.scenario.model.blocks[1].graph[op.node], DType::I8);
    EXPECT_EQ(op.work.math, narrow ? DType::I8 : DType::BF16) << op.name;
    products += narrow ? 1 : 0;
  }
  EXPECT_GE(products, 4);
  EXPECT_EQ(layer(w).backward.size(), layer(bf16).backward.size());  // without casts
  for (std::size_t i = 0; i < layer(w).backward.size(); ++i) {
    const BodyOp &op = layer(w).backward[i], &wide = layer(bf16).backward[i];
    if (op.communication || op.work.kind != WorkKind::Product) continue;
    EXPECT_EQ(op.work.math, DType::BF16) << op.name;
    EXPECT_LE(op.work.read, wide.work.read) << op.name;
    if (multiplies_narrow(w.scenario.model.blocks[1].graph[op.node], DType::I8)) {
      EXPECT_LT(op.work.read, wide.work.read) << op.name;
      EXPECT_GE(op.work.read.value, wide.work.read.value / 4) << op.name;
    }
  }
}

TEST(VsQuant, IsFasterThanBf16WhereProductsAreLarge) {
  const auto step = [](std::string_view precision) {
    const Scenario s = scenario(gpt({.layers = 4, .hidden = 16384, .heads = 128, .sequence = 8192}),
                                1, {precision}, "h100-sxm");
    return estimate_step(prepare(s), *physical_cost_model(s)).step.count();
  };
  EXPECT_LT(step("precision=vs-quant"), step("precision=bf16"));
  EXPECT_GT(step("precision=vs-quant"), step("precision=fp8"));  // whose backward is narrow too
}

TEST(VsQuant, NeedsADeviceThatMultipliesWholeNumbers) {
  const Diagnostics found =
      testing::check_of("vs-quant", scenario(gpt(), 8, {"precision=vs-quant"}, "p100-pcie-16"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("vs-quant multiplies whole numbers and needs a device with an "
                                  "int8 peak, which P100"),
            std::string::npos)
      << found[0].message;
  EXPECT_EQ(found[0].fix, "precision=fp16");
  EXPECT_TRUE(testing::check_of("vs-quant", scenario(gpt(), 8, {"precision=vs-quant"}, "h100-sxm"))
                  .empty());
}

}  // namespace
}  // namespace trainyard
