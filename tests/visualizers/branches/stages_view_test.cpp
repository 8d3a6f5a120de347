#include "visualizers/branches/stages_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/visualizers/golden.h"

namespace trainyard {
namespace {

// Two convolutions and a sum that waits for both, and gradients for the colours.
StagesModel made_stages() {
  const auto us = [](int n) { return Duration{n * 1000}; };
  StagesModel model;
  model.title = "Backward of mixed";
  model.operators = {{"add input gradient", Pass::BackwardInput},
                     {"conv input gradient", Pass::BackwardInput},
                     {"conv weight gradient", Pass::BackwardWeight}};
  model.schedules = {
      {"one after another",
       1,
       3,
       us(90),
       us(100),
       {{0, 0, 0, us(0), us(10)}, {1, 0, 1, us(10), us(50)}, {2, 0, 2, us(50), us(90)}},
       {us(10), us(50), us(90)}},
      {"best",
       2,
       2,
       us(55),
       us(50),
       {{0, 0, 0, us(0), us(10)}, {1, 0, 1, us(10), us(52)}, {2, 1, 1, us(10), us(53)}},
       {us(10), us(55)}}};
  return model;
}

TEST(StagesView, LooksAsApproved) {
  testing_golden::expect_golden(stages_picture(made_stages()), "stages");
}

TEST(StagesView, EveryOperatorOfEveryScheduleIsPointedAt) {
  const StagesModel model = made_stages();
  const Drawing drawing = stages_picture(model);
  const DataTable table = stages_table(model);
  ASSERT_EQ(table.rows, 6U);
  for (std::size_t row = 0; row < table.rows; ++row) {
    const Item item = table.item(row);
    const auto mark = std::find_if(drawing.marks.begin(), drawing.marks.end(),
                                   [&](const Mark& m) { return m.style.item == item; });
    ASSERT_NE(mark, drawing.marks.end()) << row;
    const Point middle{mark->rect.x + mark->rect.width / 2, mark->rect.y + mark->rect.height / 2};
    EXPECT_EQ(hit(drawing, middle), item);
    EXPECT_EQ(describe_stages(model, item).title, std::get<std::string>(table.cell(row, 1)));
  }
  EXPECT_EQ(describe_stages(model, table.item(5)).where, "best: stage 2 of 2, core 1");
  EXPECT_EQ(describe_stages(model, {ItemKind::Span, std::uint64_t{7} << 32}).title, "");
  EXPECT_EQ(describe_stages(model, {ItemKind::Lane, 0}).title, "");
}

// The words under the heads have the measured times, of which the gain is made.
TEST(StagesView, SaysTheGainAsMeasured) {
  EXPECT_EQ(stages_words(made_stages()),
            "one after another: predicted 90.0 µs, measured 100 µs; best: predicted 55.0 µs, "
            "measured 50.0 µs, 2.00 times as fast in 2 stages");
}

// A machine of 256 cores has lanes of a few pixels, and all of them are in the picture.
TEST(StagesView, ManyCoresHaveRoom) {
  StagesModel model = made_stages();
  model.schedules[1].cores = 256;
  model.schedules[1].operators.back().core = 255;
  const Drawing drawing = stages_picture(model);
  const Item last = stages_table(model).item(5);
  const auto mark = std::find_if(drawing.marks.begin(), drawing.marks.end(),
                                 [&](const Mark& m) { return m.style.item == last; });
  ASSERT_NE(mark, drawing.marks.end());
  EXPECT_LT(mark->rect.bottom(), drawing.size.height);
}

}  // namespace
}  // namespace trainyard
