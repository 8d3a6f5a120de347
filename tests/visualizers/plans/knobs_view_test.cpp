#include "visualizers/plans/knobs_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

KnobDot dot(const std::string& value, double change, bool fits = true,
            const std::string& maths = "") {
  const Bytes margin = fits ? 8_GiB : -2_GiB;
  return {value,           "",     change, Duration{std::llround(1e10 * (1 + change))},
          80_GiB - margin, margin, fits,   maths};
}

KnobsModel knobs_model() {
  KnobsModel m{"a model on devices", 10s, 60_GiB, 80_GiB, {}};
  m.rows.push_back({"tp", "tensor-parallel degree", "8", {dot("4", -0.2), dot("16", 0.4)}, {}});
  m.rows.push_back({"zero", "state", "0", {dot("1", -0.1), dot("3", 0.9, false)}, {}});
  m.rows.push_back({"seq", "tokens", "8192", {dot("4096", 0.05, true, "other samples")}, {}});
  m.rows.push_back({"ep", "experts", "1", {}, {"2: there are no experts"}});
  return m;
}

Item dot_item(std::size_t row, std::size_t index) {
  return {ItemKind::Dot, row * kKnobDots + index};
}

std::vector<Mark> knob_marks(const Drawing& drawing, Item item) {
  std::vector<Mark> found;
  for (const Mark& mark : drawing.marks)
    if (mark.style.item == item) found.push_back(mark);
  return found;
}

float centre(const Mark& mark) { return mark.rect.x + mark.rect.width / 2; }

TEST(KnobsView, ADotForEachValueByItsTime) {
  const Drawing drawing = knobs_picture(knobs_model());
  const auto fast = knob_marks(drawing, dot_item(0, 0)), slow = knob_marks(drawing, dot_item(0, 1)),
             other = knob_marks(drawing, dot_item(1, 0));
  ASSERT_EQ(fast.size(), 1u);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_LT(centre(fast[0]), centre(other[0]));  // one axis for all rows
  EXPECT_LT(centre(other[0]), centre(slow[0]));
  EXPECT_EQ(fast[0].kind, MarkKind::Disc);
}

TEST(KnobsView, WhatDoesNotFitIsHollowAndOtherTrainingASquare) {
  const Drawing drawing = knobs_picture(knobs_model());
  EXPECT_EQ(knob_marks(drawing, dot_item(1, 1)).at(0).kind, MarkKind::Ring);
  EXPECT_EQ(knob_marks(drawing, dot_item(1, 1)).at(0).style.ink, Ink::Error);
  EXPECT_EQ(knob_marks(drawing, dot_item(2, 0)).at(0).kind, MarkKind::Fill);
}

TEST(KnobsView, WhatIsBeyondTheAxisStandsAtItsEnd) {
  KnobsModel m = knobs_model();
  m.rows[0].dots = {dot("1", 4.0), dot("2", 9.0)};
  const Drawing drawing = knobs_picture(m);
  EXPECT_EQ(centre(knob_marks(drawing, dot_item(0, 0)).at(0)),
            centre(knob_marks(drawing, dot_item(0, 1)).at(0)));
}

TEST(KnobsView, HoverSaysStepMemoryAndWhy) {
  const Hover over = describe_knobs(knobs_model(), dot_item(1, 1));
  EXPECT_EQ(over.title, "zero = 3");
  EXPECT_EQ(over.value, "19.000 s per step");
  const auto says = [](const Hover& h, const std::string& words) {
    return std::any_of(h.lines.begin(), h.lines.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(says(over, "2.00 GiB over"));
  EXPECT_TRUE(says(over, "+90.0 %"));
  EXPECT_TRUE(says(describe_knobs(knobs_model(), dot_item(2, 0)), "other samples"));
  EXPECT_TRUE(says(describe_knobs(knobs_model(), {ItemKind::Legend, 3}), "there are no experts"));
  EXPECT_TRUE(describe_knobs(knobs_model(), dot_item(9, 0)).title.empty());
}

TEST(KnobsView, ASelectedDotIsRinged) {
  const KnobsModel m = knobs_model();
  const Size size = knobs_size(m);
  Drawing plain(size), chosen(size);
  draw_knobs(plain, {0, 0, size.width, size.height}, m, {});
  ViewState state;
  state.selected = dot_item(0, 0);
  draw_knobs(chosen, {0, 0, size.width, size.height}, m, state);
  EXPECT_EQ(chosen.marks.size(), plain.marks.size() + 1);
}

TEST(KnobsView, EverythingLiesInsideAndSmallSizesDraw) {
  const KnobsModel m = knobs_model();
  for (const Size size : {Size{40, 20}, Size{300, 90}, knobs_size(m)}) {
    Drawing drawing(size);
    draw_knobs(drawing, {0, 0, size.width, size.height}, m, {});
    for (const Rect& clip : testing::non_empty(drawing.clips)) {
      EXPECT_GE(clip.width, 0);
      EXPECT_LE(clip.right(), size.width + 0.01f);
    }
  }
  EXPECT_FALSE(knobs_picture({}).marks.empty());
}

}  // namespace
}  // namespace trainyard
