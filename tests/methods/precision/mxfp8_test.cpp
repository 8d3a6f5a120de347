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
  EXPECT_NEAR(layer(mxfp8).narrow.kept, 2 + 2 * 33.0 / 32, 1e-12);
}

// Kept weights are both casts with their scales, and what no product reads stays in bf16.
TEST(Mxfp8, KeptWeightsAreCodesAndScalesAlongBothDimensions) {
  const Workload w =
      prepare(scenario(gpt(), 1, {"precision=mxfp8", "mxfp8.weights=mxfp8"}, "b200-hgx"));
  const Body& body = layer(w);
  constexpr std::int64_t matrices = 12 * 1024 * 1024;
  EXPECT_EQ(state_bytes(body, w.layout).weights.value,
            2 * (body.parameters.dense - matrices) + 2 * matrices / 32 * 33);
}

// Ranks that divide the optimizer's state gather bf16, which each casts along both dimensions, and
// agree on no scales.
TEST(Mxfp8, RanksGatherBf16AndCastWhatCame) {
  const Workload plain = prepare(scenario(gpt(), 8, {"precision=mxfp8", "zero=1"}, "b200-hgx")),
                 kept = prepare(scenario(
                     gpt(), 8, {"precision=mxfp8", "zero=1", "mxfp8.weights=mxfp8"}, "b200-hgx"));
  EXPECT_EQ(testing::collectives(layer(kept).gather), testing::collectives(layer(plain).gather));
  EXPECT_EQ(layer(kept).update.back().work.written, layer(plain).update.back().work.written);
  constexpr std::int64_t matrices = 12 * 1024 * 1024;
  EXPECT_EQ(state_bytes(layer(plain), plain.layout).weights -
                state_bytes(layer(kept), kept.layout).weights,
            Bytes{2 * matrices});
}

TEST(Mxfp8, KeepsWeightsOnlyWhereBlocksAreWhole) {
  const auto found = [](testing::Settings words, Model model, std::int64_t devices) {
    words.insert(words.begin(), {"precision=mxfp8", "mxfp8.weights=mxfp8"});
    std::string all;
    for (const Diagnostic& d :
         testing::check_of("mxfp8", scenario(std::move(model), devices, words, "b200-hgx")))
      all += d.message + "; try " + d.fix + "\n";
    return all;
  };
  EXPECT_EQ(found({}, gpt(), 8), "");
  EXPECT_EQ(found({"zero=1"}, gpt(), 8), "");
  EXPECT_EQ(found({"zero=3"}, gpt(), 8),
            "zero=3 divides the weights of a layer as one row of numbers, which cuts through the "
            "blocks of 32 that share a scale in mxfp8, along rows and along columns; try "
            "mxfp8.weights=bf16\n");
  EXPECT_EQ(found({}, gpt({.layers = 2, .hidden = 48, .heads = 2}), 1),
            "weights kept in mxfp8 have dimensions of whole blocks of 32 on each device, found 48 "
            "in attn.c_attn.weight of layers; try mxfp8.weights=bf16\n");
  EXPECT_EQ(found({"offload=optimizer"}, gpt(), 1),
            "offload=optimizer has the host send weights in bf16, and weights kept in 8 bits have "
            "no place for them on the device; try mxfp8.weights=bf16\n");
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
