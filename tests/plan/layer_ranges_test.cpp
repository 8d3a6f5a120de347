// Tests ranges of layers: their text, the layers that they hold, and what is refused.
#include "core/plan/layer_ranges.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

// "#" for each layer that is held, "." for the others.
std::string held(std::string_view text, int layers) {
  std::string drawn;
  for (const bool in : in_ranges(parse_layer_ranges(text), layers)) drawn += in ? '#' : '.';
  return drawn;
}

TEST(LayerRanges, AreCountedFromEitherEnd) {
  EXPECT_EQ(held("none", 4), "....");
  EXPECT_EQ(held("all", 4), "####");
  EXPECT_EQ(held("first:2,last:1", 6), "##...#");
  EXPECT_EQ(held("0-1,4", 6), "##..#.");
  EXPECT_EQ(held("3,1-3", 6), ".###..");
  EXPECT_EQ(held("last:3", 2), "##");
  EXPECT_EQ(held("all", 0), "");
}

TEST(LayerRanges, RefuseWithTheFormsAndTheNearestWord) {
  const std::string expected =
      "expected none, all or layers such as first:2,last:8 or 0-1,30 (counted from 0), found ";
  EXPECT_EQ(layer_ranges_refusal("first:2,last:8"), "");
  EXPECT_EQ(layer_ranges_refusal("frist:2"), expected + "\"frist:2\"; did you mean \"first\"?");
  for (const char* const wrong : {"", "2-1", "-1", "1,,2", "first:0", "last:", "1.5", "9999999"})
    EXPECT_TRUE(layer_ranges_refusal(wrong).starts_with(expected)) << wrong;
}

TEST(LayerRanges, BeyondTheLastLayerIsAnErrorWithTheRange) {
  Diagnostics found;
  check_layer_ranges(parse_layer_ranges("all"), 4, {}, found);
  EXPECT_TRUE(found.empty());
  check_layer_ranges(parse_layer_ranges("2-4"), 4, {}, found);
  check_layer_ranges(parse_layer_ranges("last:5"), 4, {}, found);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].message, "expected layers from 0 to 3, found 2-4");
  EXPECT_EQ(found[1].message, "expected layers from 0 to 3, found last:5");
}

}  // namespace
}  // namespace trainyard
