// The picture of a run's numbers: that it holds what was found, where the format's window lies.
#include "visualizers/numbers/numbers_view.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/visualizers/labels.h"

namespace trainyard {
namespace {

using testing::says;

NumberRecord drawn_numbers(double loss_scale) {
  NumberRecord record(1);
  const NumberWindow half = window_of(DType::F16);
  record.begin(0, 8, {half, half, half});
  const std::vector<float> gradients = {0, 0x1p-30f, 0x1p-20f, 0x1p-10f, 1};
  SeenNumbers seen;
  seen.histograms[1] = histogram_of(gradients);
  seen.updates = {10, 4};
  for (std::int64_t step = 1; step <= 8; ++step)
    record.add(step, step > 4 ? loss_scale / 2 : loss_scale, false, &seen);
  return record;
}

TEST(NumbersView, SaysWhatTheFormatLosesAndHoldsTheTwoSeries) {
  const Drawing drawing = numbers_picture(drawn_numbers(0x1p11));
  for (const char* words : {"Exponents of gradients at step 8", "fp16: 20.0 % zero",
                            "0.0 % under it", "moved by the loss scale of 1024", "subnormal",
                            "normal", "Updates that rounding cancels", "Loss scale"})
    EXPECT_TRUE(says(drawing, words)) << words;
  EXPECT_FALSE(says(drawing, "Exponents of weights"));
}

TEST(NumbersView, HasNoLossScaleWhereLossesAreNotScaled) {
  const Drawing drawing = numbers_picture(drawn_numbers(0));
  EXPECT_TRUE(says(drawing, "20.0 % under it"));
  EXPECT_FALSE(says(drawing, "oss scale"));
}

TEST(NumbersView, BarsRiseWithTheirShares) {
  NumberRecord record(1);
  const NumberWindow half = window_of(DType::F16);
  record.begin(0, 1, {half, half, half});
  std::vector<float> gradients(100, 1.0f);
  gradients.insert(gradients.end(), 10, 0.25f);
  SeenNumbers seen;
  seen.histograms[1] = histogram_of(gradients);
  record.add(1, 0, false, &seen);
  Drawing drawing({900, 230});
  draw_exponents(drawing, {0, 0, 900, 230}, record, NumberClass::Gradients);
  std::vector<float> heights;
  for (const Mark& mark : drawing.marks)
    if (mark.kind == MarkKind::Fill && mark.style.ink == Ink::Forward)
      heights.push_back(mark.rect.height);
  ASSERT_EQ(heights.size(), 2u);
  EXPECT_LT(heights[0], heights[1]);
  EXPECT_GT(heights[0], 0);
  // A record of nothing has a picture without marks.
  EXPECT_TRUE(numbers_picture(NumberRecord()).marks.empty());
}

TEST(NumbersView, EachPictureIsDrawnAndSaidWhereTheRunHasIt) {
  const NumberRecord scaled = drawn_numbers(0x1p11), plain = drawn_numbers(0);
  std::size_t together = 0;
  for (std::size_t p = 0; p < kNumbersPictures; ++p) {
    const auto picture = static_cast<NumbersPicture>(p);
    Drawing drawing({900, 260});
    draw_numbers(drawing, whole(drawing.size), scaled, picture);
    together += drawing.marks.size();
    const bool has = picture != NumbersPicture::Weights && picture != NumbersPicture::Activations;
    EXPECT_EQ(has_picture(scaled, picture), has) << p;
    EXPECT_EQ(!drawing.marks.empty(), has) << p;
    EXPECT_EQ(!numbers_words(scaled, picture).empty(), has) << p;
    EXPECT_FALSE(has_picture(NumberRecord(), picture)) << p;
  }
  EXPECT_EQ(numbers_picture(scaled).marks.size(), together);
  EXPECT_FALSE(has_picture(plain, NumbersPicture::LossScale));
  EXPECT_NE(numbers_words(plain, NumbersPicture::Gradients).find("20.0 % under it"),
            std::string::npos);
  EXPECT_NE(describe_numbers(plain, NumbersPicture::Cancelled, {ItemKind::Dot, 0}).title, "");
  EXPECT_EQ(describe_numbers(plain, NumbersPicture::Gradients, {ItemKind::Dot, 0}).title, "");
}

TEST(NumbersView, RowsAreTheExponentsThatNumbersHave) {
  const DataTable table = numbers_table(drawn_numbers(0));
  ASSERT_EQ(table.rows, 4u);
  EXPECT_EQ(std::get<std::int64_t>(table.cell(0, 1)), -30);
  EXPECT_EQ(std::get<double>(table.cell(3, 3)), 0.2);
}

}  // namespace
}  // namespace trainyard
