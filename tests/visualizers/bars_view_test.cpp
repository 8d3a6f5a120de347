// Bars with marks: the figure of a row and a mark, as the limit of a gate, never cover each other.
#include "visualizers/chart/bars_view.h"

#include <gtest/gtest.h>

#include "tests/visualizers/labels.h"

namespace trainyard {
namespace {

TEST(Bars, FiguresStandBesideMarksWhereverThoseAre) {
  BarsModel model;
  model.title = "Answers that one model alone has right", model.unit = "%";
  model.parts = {{"the reference", Ink::Backward}, {"the model", Ink::Forward}};
  // The last row fixes the axis, and ends up to 100 % are short bars of it.
  for (double end = 0; end <= 100; end += 0.5) {
    model.rows = {{"one", {end / 2, end / 2}}, {"all", {50, 50}}};
    model.marks = {{0, 20, "limit", true}, {0, 27, "your guess", false}};
    Drawing drawing({900, bars_height(model)});
    draw_bars(drawing, whole(drawing.size), model);
    int figures = 0;
    for (const Mark& text : drawing.marks) {
      if (text.kind != MarkKind::Text) continue;
      const Label& label = drawing.labels[text.first];
      if (label.size != 12 || label.text.find('%') == std::string::npos) continue;
      ++figures;
      const Rect place = testing::place_of(label);
      EXPECT_LE(place.right(), drawing.size.width);
      for (const Mark& mark : drawing.marks)
        if (mark.kind == MarkKind::Line &&
            (mark.style.ink == Ink::Select || mark.style.ink == Ink::Accent)) {
          const Rect both = intersect({place.x - 2, place.y, place.width + 4, place.height},
                                      {mark.rect.x - 1, mark.rect.y, 2, mark.rect.height});
          EXPECT_FALSE(both.width > 0 && both.height > 0) << end;
        }
    }
    EXPECT_EQ(figures, 2) << end;
  }
}

}  // namespace
}  // namespace trainyard
