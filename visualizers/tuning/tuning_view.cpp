#include "visualizers/tuning/tuning_view.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/units_text.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kTuningTop = 14, kTuningFoot = 34, kTuningLeft = 84, kTuningRight = 24;
constexpr float kCrossRow = 16;     // px below the figures, for trials without one
constexpr double kTuningWide = 20;  // from this ratio on the figures stand on a logarithmic axis
constexpr Ink kFamilyInks[] = {Ink::Forward,       Ink::Backward,       Ink::Optimizer,
                               Ink::Communication, Ink::WeightGradient, Ink::Swap};

Ink family_ink(std::size_t arm) { return kFamilyInks[arm % std::size(kFamilyInks)]; }

struct TuningPlot {
  Rect rect;  // of the figures
  double most_spent = 1, low = 0, high = 1;
  bool logarithmic = false;

  float x(double spent) const {
    return rect.x + rect.width * static_cast<float>(std::clamp(spent / most_spent, 0.0, 1.0));
  }
  float y(double value) const {
    const double share =
        logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return rect.bottom() - rect.height * static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
  float cross_y() const { return rect.bottom() + kCrossRow / 2; }
  float bottom() const { return rect.bottom() + kCrossRow; }
};

TuningPlot tuning_plot(const Rect& area, const TuneReport& report) {
  TuningPlot plot;
  plot.rect = {area.x + kTuningLeft, area.y + kTuningTop,
               std::max(1.f, area.width - kTuningLeft - kTuningRight),
               std::max(1.f, area.height - kTuningTop - kTuningFoot - kCrossRow)};
  if (report.spent() > 0) plot.most_spent = report.spent();
  bool any = false;
  for (const TuneTrial& trial : report.trials) {
    if (!trial.value) continue;
    plot.low = any ? std::min(plot.low, *trial.value) : *trial.value;
    plot.high = any ? std::max(plot.high, *trial.value) : *trial.value;
    any = true;
  }
  plot.logarithmic = any && plot.low > 0 && plot.high > plot.low * kTuningWide;
  if (plot.logarithmic) {
    plot.low /= 1.2, plot.high *= 1.2;
  } else {
    const double room = plot.high > plot.low ? 0.08 * (plot.high - plot.low)
                                             : std::max(std::abs(plot.high) * 0.1, 1e-9);
    plot.low -= room, plot.high += room;
  }
  return plot;
}

// Memory has round values in GiB, everything else in its own unit.
std::vector<double> figure_ticks(const TuningPlot& plot, TuneGoal goal) {
  std::vector<double> ticks;
  if (plot.logarithmic) {
    const bool wide = plot.high / plot.low > 300;
    for (const LogTick& each : log_ticks(plot.low, plot.high))
      if (each.digit == 1 || (!wide && (each.digit == 2 || each.digit == 5)))
        ticks.push_back(each.value);
    return ticks;
  }
  const double unit = goal == TuneGoal::Memory ? 0x1p30 : 1;
  for (const double value : round_values(plot.low / unit, plot.high / unit,
                                         std::max(4, static_cast<int>(plot.rect.height / 34))))
    ticks.push_back(value * unit);
  return ticks;
}

void draw_tuning_axes(Drawing& drawing, const TuningPlot& plot, const TuneReport& report) {
  float free = 1e9f;
  for (const double value : figure_ticks(plot, report.goal)) {
    const float y = plot.y(value);
    if (free - y < 14) continue;
    draw_y_tick(drawing, plot.rect, y, goal_text(report.goal, value));
    free = y;
  }
  const Rect whole_plot{plot.rect.x, plot.rect.y, plot.rect.width, plot.bottom() - plot.rect.y};
  for (const double spent :
       round_values(0, plot.most_spent, std::max(2, static_cast<int>(plot.rect.width / 120))))
    draw_x_tick(drawing, whole_plot, plot.x(spent), readable(seconds(spent)));
  line(drawing, {plot.rect.x, plot.bottom()}, {plot.rect.right(), plot.bottom()},
       {.ink = Ink::Axis});
  write(drawing,
        report.measured ? "time spent on trials" : "time that the trials' steps would take",
        {plot.rect.right(), plot.bottom() + 25}, 10, Weight::Medium, Ink::Text3, Align::Right);
}

// The line of the best so far goes level up to the trial that is better, and then down to it.
void draw_best_so_far(Drawing& drawing, const TuningPlot& plot, const TuneReport& report) {
  std::vector<Point> path;
  for (const TuneTrial& trial : report.trials) {
    if (!trial.better || !trial.value) continue;
    const Point at{plot.x(trial.spent), plot.y(*trial.value)};
    if (!path.empty()) path.push_back({at.x, path.back().y});
    path.push_back(at);
  }
  if (path.empty()) return;
  path.push_back({plot.x(report.spent()), path.back().y});
  polyline(drawing, path, {.ink = Ink::Ok, .stroke = 2});
}

void draw_no_figure(Drawing& drawing, Point at, Item item) {
  fill(drawing, {at.x - 5, at.y - 5, 10, 10}, {.ink = Ink::Canvas, .alpha = 0, .item = item});
  const Style style{.ink = Ink::Error, .stroke = 1.5f};
  line(drawing, {at.x - 3, at.y - 3}, {at.x + 3, at.y + 3}, style);
  line(drawing, {at.x - 3, at.y + 3}, {at.x + 3, at.y - 3}, style);
}

void draw_trials(Drawing& drawing, const TuningPlot& plot, const TuneReport& report,
                 const ViewState& state) {
  for (std::size_t i = 0; i < report.trials.size(); ++i) {
    const TuneTrial& trial = report.trials[i];
    const Item item = tuning_item(i);
    const Point at{plot.x(trial.spent), trial.value ? plot.y(*trial.value) : plot.cross_y()};
    if (trial.value)
      disc(drawing, at, 4, {.ink = family_ink(trial.arm), .item = item});
    else
      draw_no_figure(drawing, at, item);
    if (report.best == i) ring(drawing, at, 7, {.ink = Ink::Ok, .stroke = 2});
    if (state.selected == item) ring(drawing, at, 10, {.ink = Ink::Select, .stroke = 2});
  }
  if (!report.best) return;
  // The line comes down to the best and goes on to the right of it, so that its words stand beside
  // the one and above the other, or left of both where there is no room.
  const TuneTrial& best = report.trials[*report.best];
  const std::string words = "best " + goal_text(report.goal, *best.value);
  const Point at{plot.x(best.spent), plot.y(*best.value)};
  const bool left =
      at.x + 12 + text_width(words, 11, Weight::SemiBold) > plot.rect.right() + kTuningRight;
  write(drawing, words, {left ? at.x - 12 : at.x + 12, left ? at.y : at.y - 12}, 11,
        Weight::SemiBold, Ink::Ok, left ? Align::Right : Align::Left);
}

void draw_tuning_legend(Drawing& drawing, const Rect& bar, const TuneReport& report, float least) {
  std::vector<LegendEntry> entries;
  if (report.arms.size() > 1 && report.arms.size() <= std::size(kFamilyInks))
    for (std::size_t a = 0; a < report.arms.size(); ++a)
      entries.push_back({family_words(report.arms[a]),
                         [a](Drawing& d, Point at) { disc(d, at, 4, {.ink = family_ink(a)}); }});
  entries.push_back({"best so far", line_sign({.ink = Ink::Ok, .stroke = 2})});
  entries.push_back({"no figure", [](Drawing& d, Point at) { draw_no_figure(d, at, {}); }});
  draw_legend_before(drawing, {bar.right() - kPlotMargin, bar.y + bar.height / 2}, entries, least,
                     {.size = 10});
}

// Capitalised, because it is the title.
std::string tuning_title(TuneGoal goal) {
  switch (goal) {
    case TuneGoal::Time:
      return "Step time against what the trials cost";
    case TuneGoal::Memory:
      return "Peak memory against what the trials cost";
    case TuneGoal::Money:
      return "Money per step against what the trials cost";
    case TuneGoal::Loss:
      return "Loss against what the trials cost";
  }
  return "";
}

}  // namespace

void draw_tuning(Drawing& drawing, const Rect& area, const TuneReport& report,
                 const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Rect bar{area.x, area.y, area.width, kSectionBar};
  draw_tuning_legend(drawing, bar, report,
                     draw_section_bar(drawing, bar, tuning_title(report.goal)));
  const Rect below{area.x, bar.bottom(), area.width, area.bottom() - bar.bottom()};
  if (report.trials.empty() || below.height < kTuningTop + kTuningFoot + kCrossRow + 20) return;
  const TuningPlot plot = tuning_plot(below, report);
  draw_tuning_axes(drawing, plot, report);
  draw_best_so_far(drawing, plot, report);
  draw_trials(drawing, plot, report, state);
}

Hover describe_tuning(const TuneReport& report, Item item) {
  if (item.kind != ItemKind::Dot || item.tag >= report.trials.size()) return {};
  const TuneTrial& trial = report.trials[item.tag];
  Hover hover;
  hover.title = "Trial " + std::to_string(item.tag + 1);
  hover.where = trial_words(report, trial);
  if (trial.value) hover.value = goal_text(report.goal, *trial.value);
  hover.lines.push_back("cost " + readable(seconds(trial.cost)) + ", so far " +
                        readable(seconds(trial.spent)));
  if (const std::string remark = trial_remark(trial); !remark.empty())
    hover.lines.push_back(remark);
  return hover;
}

}  // namespace trainyard
