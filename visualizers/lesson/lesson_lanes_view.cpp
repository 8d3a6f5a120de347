#include "visualizers/lesson/lesson_lanes_view.h"

#include <algorithm>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/panel.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kUnitsAxis = 26, kLane = 36, kLessonLaneGap = 4, kNames = 76;

// The label if it fits with 6 px to spare, or else its number alone, or else nothing. The label of
// a weight gradient never loses its W, because a bare number would be read as a backward.
std::string label_in(const std::string& label, float width, float size) {
  if (text_width(label, size, Weight::SemiBold) + 6 <= width) return label;
  if (label.empty() || label[0] == 'W') return "";
  const std::string digits = label.substr(1);
  return text_width(digits, size, Weight::SemiBold) + 6 <= width ? digits : "";
}

}  // namespace

float lanes_height(const LessonLanes& lanes, float large) {
  return (kPanelHead + kUnitsAxis +
          (kLane + kLessonLaneGap) * static_cast<float>(lanes.rows.size())) *
         large;
}

void draw_lesson_lanes(Drawing& drawing, const Rect& area, const LessonLanes& lanes, float large) {
  const ClipScope clip(drawing, area);
  const float beside = draw_panel_title(drawing, area, lanes.title, large) + 12;
  write_within(drawing, lanes.words, {beside, area.y + kPanelHead * large / 2},
               area.right() - kPanelPad - beside, 11 * large, Weight::Medium, Ink::Text3);
  if (lanes.rows.empty() || !(lanes.end > 0)) return;
  const Rect plot{area.x + kPanelPad + kNames * large, area.y + kPanelHead * large,
                  std::max(20.f, area.width - 2 * kPanelPad - kNames * large - 24),
                  std::max(8.f, area.height - (kPanelHead + kUnitsAxis) * large)};
  const auto x_of = [&](double t) {
    return plot.x + plot.width * static_cast<float>(t / lanes.end);
  };
  const float pitch = std::min((kLane + kLessonLaneGap) * large,
                               plot.height / static_cast<float>(lanes.rows.size()));
  const float lane = std::max(2.f, pitch - std::min(kLessonLaneGap * large, pitch * 0.15f));
  const float size = std::min(11 * large, lane * 0.6f);
  for (std::size_t r = 0; r < lanes.rows.size(); ++r) {
    const LessonLanes::Row& row = lanes.rows[r];
    const float top = plot.y + pitch * static_cast<float>(r);
    if (lane >= 8)
      write(drawing, row.name, {area.x + kPanelPad, top + lane / 2},
            std::min(12 * large, lane * 0.8f), Weight::Medium, Ink::Text2);
    hatch(drawing, {plot.x, top, plot.width, lane}, Pattern::Idle, {ItemKind::Idle, r});
    for (std::size_t b = 0; b < row.boxes.size(); ++b) {
      const LessonLanes::Box& each = row.boxes[b];
      const float left = x_of(each.from), width = x_of(each.to) - left;
      // Boxes that are wide enough leave a gap between them.
      const Rect rect{left, top, std::max(0.4f, width > 3 ? width - 1 : width), lane};
      fill(drawing, rect, {.ink = Ink::Canvas});
      box(drawing, rect, {.ink = each.ink, .item = {ItemKind::Span, r * 65536 + b}});
      const std::string words = label_in(each.label, rect.width, size);
      if (!words.empty())
        write(drawing, words, {rect.x + rect.width / 2, top + lane / 2}, size, Weight::SemiBold,
              label_ink(each.ink), Align::Center);
    }
  }
  const float bottom = plot.y + pitch * static_cast<float>(lanes.rows.size());
  line(drawing, {x_of(lanes.end), plot.y - 4}, {x_of(lanes.end), bottom + 4},
       {.ink = Ink::Cursor, .stroke = 1.5f});
  for (const double tick : round_values(0, lanes.end, static_cast<int>(plot.width / 110) + 2)) {
    if (tick > lanes.end * 0.95) continue;
    write(drawing, panel_number(tick, ""), {x_of(tick), bottom + 12 * large}, 11 * large,
          Weight::Medium, Ink::Text3, Align::Center);
  }
  write(drawing, panel_number(lanes.end, "units"), {x_of(lanes.end) + 18, bottom + 12 * large},
        11 * large, Weight::SemiBold, Ink::Text2, Align::Right);
}

}  // namespace trainyard
