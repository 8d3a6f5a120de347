#include <gtest/gtest.h>

#include "core/methods/precision/narrow_products.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::scenario;

TEST(Mxfp8, AScaleForThirtyTwoElements) {
  EXPECT_EQ(narrow_bytes(DType::F8Block, 32), 33_B);
  EXPECT_EQ(narrow_bytes(DType::F8Block, 1 << 20).value, (1 << 20) / 32 * 33);
  EXPECT_EQ(narrow_bytes(DType::F8, 33), 33_B);
  EXPECT_EQ(narrow_bytes(DType::F8Row, 1), 1_B);
}

TEST(Mxfp8, IsFp8WithItsScales) {
  const auto prepared = [](std::string_view precision) {
    return prepare(scenario(gpt(), 1, {precision}, "b200-hgx"));
  };
  const Workload fp8 = prepared("precision=fp8"), mxfp8 = prepared("precision=mxfp8");
  EXPECT_EQ(mxfp8.layout.precision.math, DType::F8Block);
  EXPECT_EQ(testing::names(layer(mxfp8).forward), testing::names(layer(fp8).forward));
  EXPECT_GT(saved_bytes(layer(mxfp8)), saved_bytes(layer(fp8)));
  EXPECT_LT(saved_bytes(layer(mxfp8)), saved_bytes(layer(prepared("precision=bf16"))));
  EXPECT_NEAR(layer(mxfp8).kept_weight, 2 + 2 * 33.0 / 32, 1e-12);
}

TEST(Mxfp8, NeedsProductsThatReadScales) {
  const Diagnostics found =
      testing::check_of("mxfp8", scenario(gpt(), 8, {"precision=mxfp8"}, "h100-sxm"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(
      found[0].message,
      "mxfp8 needs a device whose products read a scale for each block of elements; those of H100 "
      "SXM5 do not");
  EXPECT_EQ(found[0].fix, "precision=fp8");
}

}  // namespace
}  // namespace trainyard
