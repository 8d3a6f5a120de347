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

// The two input gradients as one box in a third schedule.
StagesModel merged_stages() {
  StagesModel model = made_stages();
  model.operators.push_back({"add + conv input gradient", Pass::BackwardInput, {0, 1}});
  const auto us = [](int n) { return Duration{n * 1000}; };
  model.schedules.push_back({"merged",
                             1,
                             2,
                             us(80),
                             us(82),
                             {{3, 0, 0, us(0), us(40)}, {2, 0, 1, us(40), us(80)}},
                             {us(40), us(80)}});
  return model;
}

TEST(StagesView, AMergedOperatorNamesItsParts) {
  const StagesModel model = merged_stages();
  testing_golden::expect_golden(stages_picture(model), "stages-merged");
  const Item item = stages_table(model).item(6);
  const Hover hover = describe_stages(model, item);
  EXPECT_EQ(hover.title, "add + conv input gradient");
  EXPECT_EQ(hover.lines, (std::vector<std::string>{"from 0 s on", "runs add input gradient",
                                                   "runs conv input gradient"}));
  // Whoever points at one of its parts sees it framed too, and the reverse.
  const auto frames = [&](Item selected) {
    ViewState state;
    state.selected = selected;
    Drawing with(stages_picture(model).size), without(with.size);
    draw_stages(with, whole(with.size), model, state);
    draw_stages(without, whole(without.size), model, {});
    return with.marks.size() - without.marks.size();
  };
  EXPECT_EQ(frames(item), 5U) << "itself, and both parts in two schedules";
  EXPECT_EQ(frames(stages_table(model).item(0)), 3U) << "itself in two schedules, and the whole";
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
