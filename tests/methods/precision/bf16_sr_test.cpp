#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::bytes_per_parameter;
using testing::gpt;
using testing::scenario;

TEST(Bf16Sr, HasNothingInFourBytes) {
  const Workload w = prepare(scenario(gpt(), 1, {"precision=bf16-sr"}));
  const Precision& p = w.layout.precision;
  for (DType type : {p.parameter, p.activation, p.gradient, p.math}) EXPECT_EQ(type, DType::BF16);
  EXPECT_FALSE(p.master_weights);
}

// 2 weights, 2 gradients and 2 a moment.
TEST(Bf16Sr, BytesOfAParameterByOptimizer) {
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-sr", "optimizer=sgd"}), 4);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-sr", "optimizer=momentum"}), 6);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-sr", "optimizer=lars"}), 6);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-sr", "optimizer=adam"}), 8);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-sr", "optimizer=lamb"}), 8);
}

TEST(Bf16Sr, NeedsADeviceWithItsPeak) {
  const Diagnostics found =
      testing::check_of("bf16-sr", scenario(gpt(), 8, {"precision=bf16-sr"}, "v100-sxm3-32"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "bf16-sr needs a device with a bf16 peak; V100 32GB has fp32, fp16");
  EXPECT_EQ(found[0].fix, "precision=fp16");
}

}  // namespace
}  // namespace trainyard
