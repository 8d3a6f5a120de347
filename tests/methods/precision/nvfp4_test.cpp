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

TEST(Nvfp4, AScaleForSixteenElements) {
  EXPECT_EQ(narrow_bytes(DType::F4, 32), 18_B);
  EXPECT_EQ(narrow_bytes(DType::F4, 1 << 20).value, (1 << 20) / 16 * 9);
}

TEST(Nvfp4, KeepsLessThanEightBits) {
  const auto kept = [](std::string_view precision) {
    return saved_bytes(layer(prepare(scenario(gpt(), 1, {precision}, "b200-hgx"))));
  };
  EXPECT_LT(kept("precision=nvfp4"), kept("precision=fp8"));
}

// Four times the peak, less what casts and slower kernels cost.
TEST(Nvfp4, IsFasterThanEightBitsWhereProductsAreLarge) {
  const auto step = [](std::string_view precision) {
    const Scenario s = scenario(gpt({.layers = 4, .hidden = 16384, .heads = 128, .sequence = 8192}),
                                1, {precision}, "gb300-gpu");
    return estimate_step(prepare(s), *physical_cost_model(s)).step.count();
  };
  EXPECT_LT(step("precision=nvfp4"), step("precision=mxfp8"));
  EXPECT_LT(step("precision=mxfp8"), step("precision=bf16"));
}

TEST(Nvfp4, NeedsADeviceWithItsPeak) {
  EXPECT_EQ(testing::check_of("nvfp4", scenario(gpt(), 8, {"precision=nvfp4"}, "h100")).size(), 1u);
  EXPECT_TRUE(testing::check_of("nvfp4", scenario(gpt(), 8, {"precision=nvfp4"}, "b200")).empty());
}

}  // namespace
}  // namespace trainyard
