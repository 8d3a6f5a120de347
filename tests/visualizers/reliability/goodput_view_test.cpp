#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/cost/physical.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/validation/bands.h"
#include "visualizers/reliability/goodput_view.h"

namespace trainyard {
namespace {

GoodputSubject failing_subject() {
  Scenario s{zoo_model("llama-3-8b"), parse_cluster("h100-sxm:64"), {}};
  for (const char* one : {"tp=2", "zero=1", "global-batch=128"}) apply_setting(s.plan, one);
  const Workload workload = prepare(s);
  return goodput_subject(workload, banded_estimate(workload, *physical_cost_model(s)));
}

GoodputAnswer failing_answer() {
  GoodputQuestion q;
  q.mtbf = 4 * 3600;
  return goodput(failing_subject(), q);
}

bool has_item(const Drawing& drawing, Item item) {
  return std::any_of(drawing.marks.begin(), drawing.marks.end(),
                     [&](const Mark& mark) { return mark.style.item == item; });
}

// Area of red within the rows of weeks, over that of all kinds, at any height of the picture.
double red_share(const Drawing& drawing) {
  double red = 0, all = 0;
  for (const Mark& mark : drawing.marks) {
    if (mark.style.item.kind != ItemKind::Lane) continue;
    const double area =
        static_cast<double>(mark.rect.width) * static_cast<double>(mark.rect.height);
    all += area;
    if (mark.style.ink == Ink::Error) red += area;
  }
  return red / all;
}

TEST(GoodputView, DrawsTheMarkedIntervalsAndAsMuchRedAsWorkWasLost) {
  const GoodputAnswer a = failing_answer();
  const Drawing drawing = goodput_picture(a);
  for (const GoodputMark mark :
       {GoodputMark::Chosen, GoodputMark::Young, GoodputMark::Daly, GoodputMark::Best})
    EXPECT_TRUE(has_item(drawing, {ItemKind::Dot, static_cast<std::uint64_t>(mark)}));
  const double all = static_cast<double>(a.question.weeks) * 7 * 86400;
  ASSERT_GT(a.drawn.lost, 0);
  EXPECT_NEAR(red_share(drawing) / (a.drawn.lost / all), 1, 0.02);
}

TEST(GoodputView, AnIntervalThatIsTooLongIsDrawnWithMoreRed) {
  GoodputQuestion q;
  q.mtbf = 4 * 3600;
  const GoodputSubject subject = failing_subject();
  const double best = red_share(goodput_picture(goodput(subject, q)));
  q.interval = 4 * 3600;
  EXPECT_GT(red_share(goodput_picture(goodput(subject, q))), 2 * best);
}

TEST(GoodputView, RowsAreTheMarksTheCurveAndTheLevers) {
  const GoodputAnswer a = failing_answer();
  const DataTable table = goodput_table(a);
  ASSERT_EQ(table.rows, 4 + a.curve.size() + a.levers.size());
  EXPECT_EQ(std::get<std::string>(table.cell(0, 0)), "this training");
  EXPECT_NEAR(std::get<double>(table.cell(0, 5)), a.goodput.value, 1e-12);
  for (std::size_t row = 0; row < table.rows; ++row)
    EXPECT_FALSE(describe_goodput(a, table.item(row)).title.empty()) << row;
}

TEST(GoodputView, WithoutAnAnswerItSaysWhy) {
  GoodputQuestion q;
  q.mtbf = 1;
  const AskedGoodput asked = ask_goodput(failing_subject(), q);
  EXPECT_FALSE(asked.answer);
  EXPECT_EQ(asked.place, "mtbf");
  Drawing drawing(kGoodputSize);
  draw_asked(drawing, whole(kGoodputSize), asked, {});
  EXPECT_TRUE(std::any_of(drawing.labels.begin(), drawing.labels.end(), [](const Label& label) {
    return label.text.find("does not get ahead") != std::string::npos ||
           label.text.starts_with("There is no answer");
  }));
}

// Sizes from those of a file down to a window that is nearly closed.
TEST(GoodputView, FitsAnySize) {
  const GoodputAnswer a = failing_answer();
  for (const float width : {60.f, 300.f, 700.f, 1600.f})
    for (const float height : {30.f, 200.f, 900.f}) {
      Drawing drawing({width, height});
      draw_goodput(drawing, whole(drawing.size), a, {});
      for (const Mark& mark : drawing.marks) {
        EXPECT_TRUE(std::isfinite(mark.rect.x) && std::isfinite(mark.rect.width));
        EXPECT_GE(mark.rect.width, 0);
      }
    }
}

}  // namespace
}  // namespace trainyard
