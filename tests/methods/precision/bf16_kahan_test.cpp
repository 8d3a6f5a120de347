#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::bytes_per_parameter;
using testing::gpt;
using testing::scenario;

TEST(Bf16Kahan, HasNothingInFourBytes) {
  const Workload w = prepare(scenario(gpt(), 1, {"precision=bf16-kahan"}));
  const Precision& p = w.layout.precision;
  for (DType type : {p.parameter, p.activation, p.gradient, p.math}) EXPECT_EQ(type, DType::BF16);
  EXPECT_FALSE(p.master_weights);
}

// 2 weights, 2 gradients, 2 a moment and 2 of compensation (MEM-04: 10 with Adam).
TEST(Bf16Kahan, BytesOfAParameterByOptimizer) {
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-kahan", "optimizer=sgd"}), 6);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-kahan", "optimizer=momentum"}), 8);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-kahan", "optimizer=lars"}), 8);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-kahan", "optimizer=adam"}), 10);
  EXPECT_EQ(bytes_per_parameter({"precision=bf16-kahan", "optimizer=lamb"}), 10);
}

// The state of an asynchronous schedule, besides the moments, keeps its width.
TEST(Bf16Kahan, LeavesTheStateOfTheSchedule) {
  const auto state = [](testing::Settings settings) {
    return prepare(scenario(gpt(), 4, settings)).layout.optimizer_bytes;
  };
  EXPECT_EQ(state({"pp=4", "schedule=pipemare", "precision=bf16-kahan"}) -
                state({"pp=4", "precision=bf16-kahan"}),
            4);
}

TEST(Bf16Kahan, NeedsADeviceWithItsPeak) {
  const Diagnostics found =
      testing::check_of("bf16-kahan", scenario(gpt(), 8, {"precision=bf16-kahan"}, "v100-sxm3-32"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "bf16-kahan needs a device with a bf16 peak; V100 32GB has fp32, fp16");
  EXPECT_EQ(found[0].fix, "precision=fp16");
}

}  // namespace
}  // namespace trainyard
