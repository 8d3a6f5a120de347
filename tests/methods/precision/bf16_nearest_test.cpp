#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::bytes_per_parameter;
using testing::gpt;
using testing::scenario;

TEST(Bf16Nearest, HasNothingInFourBytes) {
  const Workload w = prepare(scenario(gpt(), 1, {"precision=bf16-nearest"}));
  const Precision& p = w.layout.precision;
  for (DType type : {p.parameter, p.activation, p.gradient, p.math}) EXPECT_EQ(type, DType::BF16);
  EXPECT_FALSE(p.master_weights);
}

// 2 weights, 2 gradients and 2 a moment.
TEST(Bf16Nearest, BytesOfAParameterByOptimizer) {
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-nearest", "optimizer=sgd"}), 4);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-nearest", "optimizer=momentum"}), 6);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-nearest", "optimizer=lars"}), 6);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-nearest", "optimizer=adam"}), 8);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-nearest", "optimizer=lamb"}), 8);
}

// Adam with a master copy and bf16 gradients has 16 (MEM-04): half of it, and fewer bytes to move.
TEST(Bf16Nearest, HalvesAdam) {
  EXPECT_EQ(bytes_per_parameter({"precision=bf16", "gradient-dtype=bf16"}), 16);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-nearest"}), 8);
  const auto touched = [](std::string_view precision) {
    return prepare(scenario(gpt(), 1, {precision})).layout.optimizer_touched_bytes;
  };
  EXPECT_EQ(touched("precision=bf16"), 26);
  EXPECT_EQ(touched("precision=bf16-nearest"), 14);  // 4 moments and 2 weights twice, 2 gradient
  EXPECT_EQ(touched("precision=bf16-kahan"), 18);
}

TEST(Bf16Nearest, NeedsADeviceWithItsPeak) {
  const Diagnostics found = testing::check_of(
      "bf16-nearest", scenario(gpt(), 8, {"precision=bf16-nearest"}, "v100-sxm3-32"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "bf16-nearest needs a device with a bf16 peak; V100 32GB has fp32, fp16");
  EXPECT_EQ(found[0].fix, "precision=fp16");
}

}  // namespace
}  // namespace trainyard
