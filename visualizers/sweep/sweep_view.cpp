#include "visualizers/sweep/sweep_view.h"

#include <algorithm>
#include <cmath>

#include "core/result/figures.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/heat.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/sweep/sweep_grid.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kSweepPad = 12, kSweepHead = 22, kSweepFoot = 18, kMapHead = 20, kMapBetween = 8;
constexpr float kSweepRow = 26, kLeastSweepRow = 5, kSweepColumn = 112, kWordsRow = 12;
constexpr float kMostSweepLabel = 220, kBarWords = 190;

Item sweep_item(std::size_t combination) { return {ItemKind::Cell, combination}; }

const SweepRow* row_at(const SweepStudy& study, std::size_t combination) {
  return combination < study.rows.size() ? &study.rows[combination] : nullptr;
}

std::optional<double> value_at(const SweepStudy& study, SweepFigure by, std::size_t combination) {
  const SweepRow* row = row_at(study, combination);
  const auto figure = row == nullptr ? std::nullopt : figure_of(*row, by);
  return figure ? std::optional(figure->value) : std::nullopt;
}

// From the lowest to the highest figure of the rows that fit.
struct SweepScale {
  double low = 0, high = 0;
  bool known = false;

  SweepScale(const SweepStudy& study, SweepFigure by) {
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
      const auto value = study.rows[i].fits() ? value_at(study, by, i) : std::nullopt;
      if (!value) continue;
      low = known ? std::min(low, *value) : *value;
      high = known ? std::max(high, *value) : *value;
      known = true;
    }
  }
  Ink ink(double value) const {
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    return heat(std::clamp(static_cast<int>(share * kHeatSteps), 0, kHeatSteps - 1));
  }
};

// All that the parts of one picture share.
struct SweepPicture {
  const SweepStudy& study;
  SweepFigure by;
  const ViewState& state;
  SweepGrid grid{study};
  SweepScale scale{study, by};
  std::optional<std::size_t> best = best_row(study, by);
};

// These words stand over the labels of rows and left of those of columns.
std::string corner_words(const SweepStudy& study, const SweepGrid& grid) {
  const std::string& rows = study.axes[grid.row_axis()].name;
  return grid.is_bars() ? rows : rows + " \\ " + study.axes[grid.column_axis()].name;
}

float labels_width(const SweepStudy& study, const SweepGrid& grid) {
  float width = text_width(corner_words(study, grid), 10);
  for (const std::string& value : study.axes[grid.row_axis()].values)
    width = std::max(width, text_width(value, 10.5f));
  return std::min(width, kMostSweepLabel) + 2 * kSweepPad;
}

void draw_cross(Drawing& drawing, Point at, Item item) {
  const Style style{.ink = Ink::Text3, .stroke = 1.4f, .item = item};
  line(drawing, {at.x - 3, at.y - 3}, {at.x + 3, at.y + 3}, style);
  line(drawing, {at.x - 3, at.y + 3}, {at.x + 3, at.y - 3}, style);
}

// A corner in an ink that no heat map has.
void draw_may_not_fit(Drawing& drawing, const Rect& rect) {
  const float side = std::min({7.f, rect.width, rect.height});
  polygon(drawing,
          {{rect.right() - side, rect.y}, {rect.right(), rect.y}, {rect.right(), rect.y + side}},
          {.ink = Ink::Error});
}

void draw_sweep_legend(Drawing& drawing, const Rect& bar, const SweepPicture& p, float least) {
  float right = bar.right() - kPlotMargin;
  const float y = bar.y + bar.height / 2;
  if (!p.grid.is_bars() && p.scale.known) {
    constexpr float kStep = 8;
    const std::string high = sweep_figure_text(p.by, p.scale.high),
                      low = sweep_figure_text(p.by, p.scale.low);
    write(drawing, high, {right, y}, 10, Weight::Medium, Ink::Text2, Align::Right);
    right -= text_width(high, 10) + 6 + kStep * kHeatSteps;
    for (int i = 0; i < kHeatSteps; ++i)
      fill(drawing, {right + kStep * static_cast<float>(i), y - 5, kStep, 10}, {.ink = heat(i)});
    right -= 6;
    write(drawing, low, {right, y}, 10, Weight::Medium, Ink::Text2, Align::Right);
    right -= text_width(low, 10) + 16;
  }
  draw_legend_before(drawing, {right, y},
                     {{"best",
                       [](Drawing& d, Point at) {
                         outline(d, {at.x - 5, at.y - 5, 10, 10}, {.ink = Ink::Ok, .stroke = 2});
                       }},
                      {"may not fit",
                       [](Drawing& d, Point at) {
                         const Rect cell{at.x - 5, at.y - 5, 10, 10};
                         fill(d, cell, {.ink = heat(kHeatSteps / 2)});
                         draw_may_not_fit(d, cell);
                       }},
                      {"does not fit", idle_sign()},
                      {"no plan", [](Drawing& d, Point at) { draw_cross(d, at, {}); }}},
                     least, {.size = 10});
}

// Draws what is around a cell or a bar: that it may not fit, that it is the best or selected.
void draw_frames(Drawing& drawing, const Rect& rect, const SweepPicture& p,
                 std::size_t combination) {
  if (p.study.rows[combination].fit == FitWord::MayNotFit) draw_may_not_fit(drawing, rect);
  if (p.best == combination) outline(drawing, rect, {.ink = Ink::Ok, .stroke = 2});
  if (p.state.selected == sweep_item(combination)) frame_selected(drawing, rect, 1);
}

void draw_sweep_cell(Drawing& drawing, const Rect& rect, const SweepPicture& p,
                     std::size_t combination) {
  const SweepRow* row = row_at(p.study, combination);
  if (row == nullptr) return;  // the sweep was stopped before it
  const Item item = sweep_item(combination);
  const auto value = value_at(p.study, p.by, combination);
  const Point middle{rect.x + rect.width / 2, rect.y + rect.height / 2};
  const Ink ink = row->fits() && value ? p.scale.ink(*value) : Ink::Grid;
  fill(drawing, rect, {.ink = ink, .item = item});
  if (!row->result) {
    if (rect.height > 8 && rect.width > 8) draw_cross(drawing, middle, item);
    return;
  }
  if (!row->fits()) hatch(drawing, rect, Pattern::Idle, item);
  const std::string words = value ? sweep_figure_text(p.by, *value) : "";
  if (rect.height >= kWordsRow && row->fits() && text_width(words, 10) + 6 <= rect.width)
    write(drawing, words, middle, 10, Weight::Medium, label_ink(ink), Align::Center);
  draw_frames(drawing, rect, p, combination);
}

// Draws labels of rows at the left, as many as do not overlap.
void draw_row_labels(Drawing& drawing, const Rect& rows, float left, float pitch,
                     const SweepAxis& axis, std::size_t shown) {
  const auto step = static_cast<std::size_t>(std::max(1.f, std::ceil(kWordsRow / pitch)));
  for (std::size_t r = 0; r < shown; r += step)
    write_within(drawing, axis.values[r], {left, rows.y + pitch * (static_cast<float>(r) + 0.5f)},
                 rows.x - left - 8, 10.5f, Weight::Medium, Ink::Text);
}

void draw_column_labels(Drawing& drawing, Point first, float pitch, const SweepAxis& axis) {
  float widest = 0;
  for (const std::string& value : axis.values) widest = std::max(widest, text_width(value, 10));
  const bool thin = pitch < 40;
  const auto step =
      static_cast<std::size_t>(thin ? std::ceil((std::min(widest, 90.f) + 8) / pitch) : 1.f);
  for (std::size_t c = 0; c < axis.values.size(); c += step) {
    const float room = pitch * static_cast<float>(step) - 6;
    const std::string words = fit_text(axis.values[c], room, 10);
    write(drawing, words,
          {first.x + pitch * (static_cast<float>(c) + (thin ? 0.f : 0.5f)), first.y}, 10,
          Weight::Medium, Ink::Text2, thin ? Align::Left : Align::Center);
  }
}

// Says how many rows of the table have no place in the picture.
void write_left_out(Drawing& drawing, const Rect& area, std::size_t count, const char* what) {
  if (count > 0)
    write(drawing,
          format_count(static_cast<std::int64_t>(count)) + " more " + what + " in the table",
          {area.x + kSweepPad, area.bottom() - kSweepFoot / 2}, 10, Weight::Regular, Ink::Text3);
}

void draw_maps(Drawing& drawing, const Rect& area, const SweepPicture& p) {
  const SweepStudy& study = p.study;
  const SweepGrid& grid = p.grid;
  const SweepAxis &row_axis = study.axes[grid.row_axis()],
                  &column_axis = study.axes[grid.column_axis()];
  const float left = area.x + kSweepPad, x = area.x + labels_width(study, grid);
  const float width = std::max(1.f, area.right() - kPlotMargin - x),
              pitch = width / static_cast<float>(grid.columns());
  const float head = grid.maps() > 1 ? kMapHead : 0;
  const float bottom = area.bottom() - kSweepFoot;
  write_within(drawing, corner_words(study, grid), {left, area.y + kSweepHead / 2}, x - left - 8,
               10, Weight::Medium, Ink::Text3);
  draw_column_labels(drawing, {x, area.y + kSweepHead / 2}, pitch, column_axis);
  const float top = area.y + kSweepHead, room = bottom - top;
  // Every map has the same height; those without room for their rows are left out.
  const auto rows = static_cast<float>(grid.rows());
  const float least = head + rows * kLeastSweepRow + kMapBetween;
  const std::size_t shown = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::max(1.f, std::floor(room / least))), 1, grid.maps());
  const float each = room / static_cast<float>(shown);
  const float row_pitch = std::clamp((each - head - kMapBetween) / rows, kLeastSweepRow, kSweepRow);
  const auto fitting =
      static_cast<std::size_t>(std::max(0.f, std::floor((each - head) / row_pitch)));
  const std::size_t shown_rows = std::min(grid.rows(), fitting);
  float y = top;
  for (std::size_t m = 0; m < shown; ++m) {
    if (head > 0)
      write_within(drawing, grid.map_words(m), {left, y + head / 2}, area.right() - left, 10.5f,
                   Weight::SemiBold, Ink::Text2);
    const Rect place{x, y + head, width, row_pitch * static_cast<float>(shown_rows)};
    draw_row_labels(drawing, place, left, row_pitch, row_axis, shown_rows);
    const float gap = row_pitch >= 8 && pitch >= 8 ? 1.f : 0.f;
    for (std::size_t r = 0; r < shown_rows; ++r)
      for (std::size_t c = 0; c < grid.columns(); ++c)
        draw_sweep_cell(drawing,
                        {x + pitch * static_cast<float>(c),
                         place.y + row_pitch * static_cast<float>(r), pitch - gap, row_pitch - gap},
                        p, grid.combination(m, r, c));
    y = place.bottom() + kMapBetween;
  }
  const std::size_t drawn = shown * shown_rows * grid.columns();
  write_left_out(drawing, area, combinations(study.axes) - drawn, "combinations are");
}

void draw_sweep_bar(Drawing& drawing, const Rect& place, const SweepPicture& p, double most,
                    std::size_t combination) {
  const SweepRow* row = row_at(p.study, combination);
  const float middle = place.y + place.height / 2;
  if (row == nullptr) return;
  const Item item = sweep_item(combination);
  const auto figure = figure_of(*row, p.by);
  if (!figure) {
    fill(drawing, place, {.ink = Ink::Canvas, .alpha = 0, .item = item});
    if (!row->result) draw_cross(drawing, {place.x + 6, middle}, item);
    write_within(drawing, row->result ? "no price is known" : row->reason, {place.x + 16, middle},
                 place.width + kBarWords - 20, 10, Weight::Regular, Ink::Text3);
    return;
  }
  const auto x = [&](double value) {
    return place.x + place.width * static_cast<float>(std::clamp(value / most, 0.0, 1.0));
  };
  const Rect bar{place.x, place.y + 3, std::max(2.f, x(figure->value) - place.x), place.height - 6};
  if (row->fits()) {
    fill(drawing, bar, {.ink = Ink::Forward, .item = item});
  } else {
    fill(drawing, bar, {.ink = Ink::Grid, .item = item});
    hatch(drawing, bar, Pattern::Idle, item);
  }
  if (figure->low < figure->high)
    whisker(drawing, {x(figure->low), middle}, {x(figure->high), middle}, 3, {.ink = Ink::Text2});
  std::string words = sweep_figure_text(p.by, figure->value);
  if (row->fit != FitWord::Fits) words += ", " + std::string(verdict_word(*row));
  if (p.best == combination) words += ", best";
  write_within(drawing, words, {std::max(bar.right(), x(figure->high)) + 8, middle}, kBarWords - 12,
               10, Weight::Medium, Ink::Text);
  draw_frames(drawing, bar, p, combination);
}

void draw_sweep_bars(Drawing& drawing, const Rect& area, const SweepPicture& p) {
  const SweepStudy& study = p.study;
  const SweepGrid& grid = p.grid;
  const SweepAxis& axis = study.axes[grid.row_axis()];
  const float left = area.x + kSweepPad, x = area.x + labels_width(study, grid);
  write_within(drawing, corner_words(study, grid), {left, area.y + kSweepHead / 2}, x - left - 8,
               10, Weight::Medium, Ink::Text3);
  double most = 0;
  for (const SweepRow& row : study.rows)
    if (const auto figure = figure_of(row, p.by)) most = std::max(most, figure->high);
  const float top = area.y + kSweepHead, room = area.bottom() - kSweepFoot - top;
  const float pitch = std::clamp(room / static_cast<float>(grid.rows()), kWordsRow, kSweepRow);
  const auto shown =
      std::min(grid.rows(), static_cast<std::size_t>(std::max(0.f, std::floor(room / pitch))));
  const Rect rows{x, top, std::max(1.f, area.right() - kBarWords - x),
                  pitch * static_cast<float>(shown)};
  draw_row_labels(drawing, rows, left, pitch, axis, shown);
  for (std::size_t r = 0; r < shown; ++r)
    draw_sweep_bar(drawing, {x, top + pitch * static_cast<float>(r), rows.width, pitch}, p,
                   most > 0 ? most : 1, grid.combination(0, r, 0));
  line(drawing, {x, rows.y}, {x, rows.bottom()}, {.ink = Ink::Axis});
  write_left_out(drawing, area, grid.rows() - shown, "combinations are");
}

}  // namespace

std::string sweep_figure_name(SweepFigure by) {
  switch (by) {
    case SweepFigure::Step:
      return "Step time";
    case SweepFigure::Throughput:
      return "Tokens (samples) per second";
    case SweepFigure::Cost:
      return "US dollars for 1 billion tokens (1 million samples)";
    case SweepFigure::Mfu:
      return "MFU";
    case SweepFigure::Peak:
      break;
  }
  return "Peak memory";
}

std::string sweep_figure_text(SweepFigure by, double value) {
  switch (by) {
    case SweepFigure::Step:
      return format_step_time(seconds(value));
    case SweepFigure::Throughput:
      return format_large(value);
    case SweepFigure::Cost:
      return band_number({value, value, value, {}}, "$").value;
    case SweepFigure::Mfu:
      return format_percent(value);
    case SweepFigure::Peak:
      break;
  }
  return format_bytes(Bytes{std::llround(value)});
}

Size sweep_size(const SweepStudy& study) {
  const SweepGrid grid(study);
  const float rows = static_cast<float>(grid.rows()) * kSweepRow;
  const float map = rows + (grid.maps() > 1 ? kMapHead : 0) + kMapBetween;
  const float width =
      labels_width(study, grid) + static_cast<float>(grid.columns()) * kSweepColumn + kPlotMargin;
  return {grid.is_bars() ? 900 : std::clamp(width, 860.f, 1600.f),
          std::clamp(kSectionBar + kSweepHead + kSweepFoot + static_cast<float>(grid.maps()) * map,
                     120.f, 2400.f)};
}

Drawing sweep_picture(const SweepStudy& study, SweepFigure by) {
  Drawing drawing(sweep_size(study));
  draw_sweep(drawing, whole(drawing.size), study, by, {});
  return drawing;
}

void draw_sweep(Drawing& drawing, const Rect& area, const SweepStudy& study, SweepFigure by,
                const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Rect bar{area.x, area.y, area.width, kSectionBar};
  const SweepPicture picture{.study = study, .by = by, .state = state};
  draw_sweep_legend(drawing, bar, picture, draw_section_bar(drawing, bar, sweep_figure_name(by)));
  const Rect below{area.x, bar.bottom(), area.width, std::max(0.f, area.bottom() - bar.bottom())};
  (picture.grid.is_bars() ? draw_sweep_bars : draw_maps)(drawing, below, picture);
}

Hover describe_sweep(const SweepStudy& study, SweepFigure by, Item item) {
  if (item.kind != ItemKind::Cell || item.tag >= study.rows.size()) return {};
  const SweepRow& row = study.rows[item.tag];
  Hover hover;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    hover.title += (a == 0 ? "" : ", ") + axis_words(study, item.tag, a);
  hover.where = verdict_word(row);
  const auto figure = figure_of(row, by);
  if (figure) hover.value = sweep_figure_text(by, figure->value);
  if (row.result) {
    const Result& r = *row.result;
    hover.lines.push_back(band_text(r.step).text() + " per step, MFU " +
                          band_percent(utilisation(r)).text());
    if (const auto money = money_for_work(r))
      hover.lines.push_back(band_number(*money, "$").text() + " for 1 " +
                            (r.counts_tokens ? "billion tokens" : "million samples"));
    if (!row.plan.empty()) hover.lines.push_back(row.plan);
    if (!r.verdict.limit.empty()) hover.lines.push_back(r.verdict.limit);
  }
  if (!row.reason.empty()) hover.lines.push_back(row.reason);
  return hover;
}

}  // namespace trainyard
