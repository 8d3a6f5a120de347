#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::bytes_per_parameter;
using testing::gpt;
using testing::scenario;

TEST(Bf16, ComputesInTwoBytesAndAccumulatesInFour) {
  const Workload w = prepare(scenario(gpt(), 1, {"precision=bf16"}));
  const Precision& p = w.layout.precision;
  EXPECT_EQ(p.parameter, DType::BF16);
  EXPECT_EQ(p.activation, DType::BF16);
  EXPECT_EQ(p.gradient, DType::F32);
  EXPECT_EQ(p.math, DType::BF16);
  EXPECT_TRUE(p.master_weights);
}

// 2 weights, 4 gradients (2 where told so), 4 master copy, and 4 a moment.
TEST(Bf16, BytesOfAParameterByOptimizer) {
  EXPECT_EQ(bytes_per_parameter({"precision=bf16", "optimizer=sgd"}), 10);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16", "optimizer=momentum"}), 14);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16", "optimizer=adam"}), 18);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16", "gradient-dtype=bf16"}), 16);
}

TEST(Bf16, IsTheDefaultWhereTheDeviceHasIt) {
  EXPECT_EQ(setting(complete(scenario(gpt(), 8, {})), "precision"), "bf16");
  EXPECT_EQ(setting(complete(scenario(gpt(), 8, {}, "v100-sxm3-32")), "precision"), "fp16");
}

TEST(Bf16, NeedsADeviceWithItsPeak) {
  const Diagnostics found =
      testing::check_of("bf16", scenario(gpt(), 8, {"precision=bf16"}, "v100-sxm3-32"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "bf16 needs a device with a bf16 peak; V100 32GB has fp32, fp16");
  EXPECT_EQ(found[0].fix, "precision=fp16");
}

}  // namespace
}  // namespace trainyard
