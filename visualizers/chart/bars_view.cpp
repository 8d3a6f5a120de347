#include "visualizers/chart/bars_view.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/panel.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kRow = 54, kBar = 22, kBarsAxis = 30;

struct BarsAxis {
  Rect plot;
  double high = 1;
  float x(double value) const {
    const double share = std::clamp(value / high, 0.0, 1.0);
    return plot.x + plot.width * static_cast<float>(share);
  }
};

double end_of(const BarsModel::Row& row) {
  double sum = 0;
  for (const double value : row.values) sum += value;
  return sum;
}

BarsAxis axis_of(const BarsModel& model, const Rect& area, float large) {
  float names = 40;
  double high = 0;
  for (const BarsModel::Row& row : model.rows) {
    names = std::max(names, text_width(row.label, 12 * large, Weight::SemiBold));
    if (!row.hidden) high = std::max(high, end_of(row));
  }
  for (const BarsModel::Mark& mark : model.marks) high = std::max(high, mark.value);
  names = std::min(names + 16, area.width * 0.3f);
  const float figures = 84 * large;
  BarsAxis axis;
  axis.plot = {area.x + kPanelPad + names, area.y + kPanelHead * large,
               std::max(20.f, area.width - 2 * kPanelPad - names - figures),
               std::max(1.f, area.height - (kPanelHead + kBarsAxis) * large)};
  axis.high = high > 0 ? high * 1.05 : 1;
  return axis;
}

void draw_parts_legend(Drawing& drawing, const Rect& area, const BarsModel& model, float title_end,
                       float large) {
  if (model.parts.size() < 2) return;
  std::vector<LegendEntry> entries;
  for (const BarsModel::Part& part : model.parts)
    entries.push_back({part.name, part.idle ? idle_sign() : box_sign(part.ink)});
  draw_legend_before(drawing, {area.right() - kPanelPad, area.y + kPanelHead * large / 2}, entries,
                     title_end + 25, {.size = 11 * large});
}

void draw_value_axis(Drawing& drawing, const BarsAxis& axis, const std::string& unit, float large) {
  for (const double tick : round_values(0, axis.high, static_cast<int>(axis.plot.width / 90) + 2)) {
    draw_x_tick(drawing, axis.plot, axis.x(tick), panel_number(tick, unit), {.size = 11 * large});
  }
  line(drawing, {axis.plot.x, axis.plot.y}, {axis.plot.x, axis.plot.bottom()}, {.ink = Ink::Axis});
}

// The figure of a row stands behind its end, and behind each mark that it would lie across.
float figure_at(const BarsAxis& axis, const BarsModel& model, std::size_t row, double end,
                float width) {
  constexpr float kAway = 8, kBeside = 4;
  std::vector<float> marks;
  for (const BarsModel::Mark& mark : model.marks)
    if (mark.row == row) marks.push_back(axis.x(mark.value));
  std::sort(marks.begin(), marks.end());
  float x = axis.x(end) + kAway;
  for (const float mark : marks)
    if (mark > x - kBeside && mark < x + width + kBeside) x = mark + kAway;
  return x;
}

void draw_bars_row(Drawing& drawing, const BarsAxis& axis, const BarsModel& model, std::size_t i,
                   float y, float bar, float large) {
  const BarsModel::Row& row = model.rows[i];
  const float left = axis.plot.x;
  write_within(drawing, row.label, {left - 10, y}, left - kPanelPad - 4, 12 * large,
               Weight::SemiBold, Ink::Text, Align::Right);
  if (row.hidden) {
    outline(drawing, {left, y - bar / 2, axis.plot.width, bar}, {.ink = Ink::BorderStrong});
    write(drawing, "hidden until you predict", {left + axis.plot.width / 2, y}, 11 * large,
          Weight::Medium, Ink::Text3, Align::Center);
    return;
  }
  double at = 0;
  for (std::size_t p = 0; p < model.parts.size() && p < row.values.size(); ++p) {
    const float from = axis.x(at), to = axis.x(at += row.values[p]);
    if (to - from < 0.05f) continue;
    const Rect rect{from, y - bar / 2, std::max(0.5f, to - from - (to - from > 3 ? 1.f : 0.f)),
                    bar};
    const Item item{ItemKind::Other, model.first_item + i * 64 + p};
    if (model.parts[p].idle) {
      hatch(drawing, rect, Pattern::Idle, item);
      outline(drawing, rect, {.ink = Ink::BorderStrong});
    } else {
      box(drawing, rect, {.ink = model.parts[p].ink, .item = item});
    }
    const std::string words = panel_number(row.values[p], model.unit);
    if (model.parts.size() > 1 && text_width(words, 11 * large, Weight::SemiBold) + 10 < rect.width)
      write(drawing, words, {rect.x + rect.width / 2, y}, 11 * large, Weight::SemiBold,
            model.parts[p].idle ? Ink::Text : label_ink(model.parts[p].ink), Align::Center);
  }
  const std::string figure = panel_number(at, model.unit);
  const float width = text_width(figure, 12 * large, Weight::SemiBold);
  write(drawing, figure, {figure_at(axis, model, i, at, width), y}, 12 * large, Weight::SemiBold,
        Ink::Text);
}

// A person's mark is a dashed line with a dot, and the truth is a solid line, so that they can be
// told apart without their colours.
void draw_bars_mark(Drawing& drawing, const BarsAxis& axis, const BarsModel::Mark& mark, float y,
                    float bar, float large) {
  const float x = axis.x(mark.value);
  const Ink ink = mark.truth ? Ink::Select : Ink::Accent;
  const float reach = bar / 2 + 5;
  if (mark.truth)
    line(drawing, {x, y - reach}, {x, y + reach}, {.ink = ink, .stroke = 2.5f});
  else
    line(drawing, {x, y - reach}, {x, y + reach},
         {.ink = ink, .stroke = 2, .dash_on = 4, .dash_off = 2});
  if (!mark.truth) disc(drawing, {x, y - reach}, 4, {.ink = ink});
  const float width = text_width(mark.words, 11 * large, Weight::SemiBold);
  const bool left = x + 8 + width > axis.plot.right() + 70;
  const float label = mark.truth ? y + reach - 1 : y - reach;
  write(drawing, mark.words, {left ? x - 8 : x + 8, label}, 11 * large, Weight::SemiBold, ink,
        left ? Align::Right : Align::Left);
}

}  // namespace

float bars_height(const BarsModel& model, float large) {
  return (kPanelHead + kBarsAxis + kRow * static_cast<float>(model.rows.size())) * large;
}

void draw_bars(Drawing& drawing, const Rect& area, const BarsModel& model, float large) {
  const ClipScope clip(drawing, area);
  draw_parts_legend(drawing, area, model, draw_panel_title(drawing, area, model.title, large),
                    large);
  if (model.rows.empty()) return;
  const BarsAxis axis = axis_of(model, area, large);
  draw_value_axis(drawing, axis, model.unit, large);
  const float row =
      std::min(72.f * large, axis.plot.height / static_cast<float>(model.rows.size()));
  const float bar = std::min(kBar * large * 1.3f, row * 0.55f);
  for (std::size_t i = 0; i < model.rows.size(); ++i)
    draw_bars_row(drawing, axis, model, i, axis.plot.y + row * (static_cast<float>(i) + 0.5f), bar,
                  large);
  for (const BarsModel::Mark& mark : model.marks)
    if (mark.row < model.rows.size())
      draw_bars_mark(drawing, axis, mark, axis.plot.y + row * (static_cast<float>(mark.row) + 0.5f),
                     bar, large);
}

Hover describe_bars(const BarsModel& model, Item item) {
  const std::uint64_t tag = item.tag - std::min(item.tag, model.first_item);
  const std::size_t row = tag / 64, part = tag % 64;
  if (item.kind != ItemKind::Other || item.tag < model.first_item || row >= model.rows.size() ||
      part >= model.parts.size() || part >= model.rows[row].values.size())
    return {};
  return {model.rows[row].label,
          model.parts[part].name,
          panel_number(model.rows[row].values[part], model.unit),
          {}};
}

std::string bars_words(const BarsModel& model) {
  std::string text = model.title + ".";
  for (const BarsModel::Row& row : model.rows) {
    if (row.hidden) continue;
    text += " " + row.label + ":";
    for (std::size_t p = 0; p < std::min(model.parts.size(), row.values.size()); ++p)
      text += std::string(p == 0 ? " " : ", ") + model.parts[p].name + " " +
              panel_number(row.values[p], model.unit);
    text += ".";
  }
  return text;
}

void draw_histogram(Drawing& drawing, const Rect& area, const HistogramModel& model, float large) {
  const ClipScope clip(drawing, area);
  draw_panel_title(drawing, area, model.title, large);
  write_within(drawing, model.words, {area.x + kPanelPad, area.y + 34 * large},
               area.width - 2 * kPanelPad, 11 * large, Weight::Medium, Ink::Text2);
  const Rect plot{area.x + kPanelPad + 10, area.y + 62 * large,
                  std::max(20.f, area.width - 2 * kPanelPad - 20),
                  std::max(10.f, area.height - 96 * large)};
  int most = 1;
  for (const int count : model.bins) most = std::max(most, count);
  const auto x_of = [&](double value) {
    const double share = (value - model.low) / (model.high - model.low);
    return plot.x + plot.width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  };
  for (const double tick :
       round_values(model.low, model.high, static_cast<int>(plot.width / 90) + 2)) {
    write(drawing, panel_number(tick, model.unit), {x_of(tick), plot.bottom() + 14 * large},
          11 * large, Weight::Medium, Ink::Text2, Align::Center);
  }
  const float width = plot.width / static_cast<float>(std::max<std::size_t>(1, model.bins.size()));
  for (std::size_t i = 0; i < model.bins.size(); ++i) {
    const float height = plot.height * static_cast<float>(model.bins[i]) / static_cast<float>(most);
    if (model.bins[i] == 0) continue;
    const Rect bar{plot.x + width * static_cast<float>(i) + 1, plot.bottom() - height, width - 2,
                   height};
    box(drawing, bar, {.ink = Ink::Forward, .item = {ItemKind::Other, i}});
    write(drawing, std::to_string(model.bins[i]), {bar.x + bar.width / 2, bar.y - 8 * large},
          11 * large, Weight::SemiBold, Ink::Text, Align::Center);
  }
  line(drawing, {plot.x, plot.bottom()}, {plot.right(), plot.bottom()}, {.ink = Ink::Axis});
  const float x = x_of(model.truth);
  line(drawing, {x, plot.y - 8}, {x, plot.bottom()}, {.ink = Ink::Select, .stroke = 2.5f});
  const bool left = x > plot.x + plot.width * 0.6f;
  write(drawing, "it is " + panel_number(model.truth, model.unit),
        {left ? x - 8 : x + 8, plot.y - 8}, 11 * large, Weight::SemiBold, Ink::Select,
        left ? Align::Right : Align::Left);
}

}  // namespace trainyard
