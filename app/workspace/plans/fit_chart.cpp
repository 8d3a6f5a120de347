#include "app/workspace/plans/fit_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "visualizers/plans/pareto_view.h"
#include "visualizers/time/memory_model.h"

namespace trainyard {
namespace {

constexpr float kFitWidth = 1500, kFitHeight = 400;
constexpr float kBarsShare = 0.62f;  // of the width
constexpr const char* kPlanItself = "the plan";
constexpr double kGibi = 1024.0 * 1024 * 1024, kMebi = 1024.0 * 1024;

// The categories of a peak, and what the allocator holds beyond them.
std::vector<double> parts_of(const PlanFigures& figures, double unit) {
  std::vector<double> parts;
  for (const Bytes bytes : figures.categories)
    parts.push_back(static_cast<double>(bytes.value) / unit);
  parts.push_back(static_cast<double>((figures.reserved - figures.peak).value) / unit);
  return parts;
}

// A legend has no room for what no row has.
void drop_empty_parts(BarsModel& bars) {
  for (std::size_t part = bars.parts.size(); part-- > 0;) {
    const auto has_none = [&](const BarsModel::Row& row) { return row.values[part] == 0; };
    if (!std::all_of(bars.rows.begin(), bars.rows.end(), has_none)) continue;
    const auto at = static_cast<std::ptrdiff_t>(part);
    bars.parts.erase(bars.parts.begin() + at);
    for (BarsModel::Row& row : bars.rows) row.values.erase(row.values.begin() + at);
  }
}

bool among(const std::vector<FitPlan>& plans, const FitPlan& wanted) {
  return std::any_of(plans.begin(), plans.end(),
                     [&](const FitPlan& plan) { return plan.words == wanted.words; });
}

std::string titled(const std::string& words, const SettingNames& name) {
  return words.empty() ? kPlanItself : name ? name(words) : words;
}

// The choices, and behind them the plan itself unless it is one.
std::vector<FitPlan> placed_plans(const FittedPlan& found) {
  std::vector<FitPlan> plans = fit_choices(found);
  if (!among(plans, found.start)) plans.push_back(found.start);
  return plans;
}

}  // namespace

std::vector<FitPlan> fit_choices(const FittedPlan& found) {
  std::vector<FitPlan> plans = found.front;
  for (const std::optional<FitPlan>* other : {&found.chosen, &found.faithful})
    if (*other && !among(plans, **other)) plans.push_back(**other);
  return plans;
}

ParetoModel fit_points(const FittedPlan& found) {
  ParetoModel model;
  model.families = {"same training", "other training"};
  model.capacity = static_cast<double>(found.budget.value);
  for (const FitPlan& plan : placed_plans(found)) {
    ParetoPoint point;
    point.id = model.points.size();
    point.step = to_seconds(plan.figures.step);
    point.memory = static_cast<double>(plan.figures.reserved.value);
    point.family = plan.changes.empty() ? 0 : 1;
    const bool best = found.chosen && plan.words == found.chosen->words;
    point.fate = best                                   ? ParetoFate::Best
                 : among(found.front, plan)             ? ParetoFate::Front
                 : plan.figures.reserved > found.budget ? ParetoFate::TooLarge
                                                        : ParetoFate::Dominated;
    model.points.push_back(point);
  }
  find_front(model);
  return model;
}

DataTable fit_table(const FittedPlan& found, const SettingNames& name) {
  const ParetoModel model = fit_points(found);
  const std::vector<FitPlan> plans = fit_choices(found);
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const FitPlan& plan = plans[i];
    const auto at = std::find(model.front.begin(), model.front.end(), i);
    rows.push_back({at == model.front.end() ? DataCell() : DataCell(at - model.front.begin() + 1),
                    plan.figures.reserved.value, plan.figures.step.count(),
                    plan.figures.reserved <= found.budget ? "yes" : "no",
                    plan.changes.empty() ? "step by step as the plan" : plan.changes,
                    titled(plan.words, name)});
    items.push_back({ItemKind::Dot, i});
  }
  return listed_table("Plans to choose from",
                      {{"by time", DataUnit::Count},
                       {"memory", DataUnit::ByteCount},
                       {"step", DataUnit::StepTime},
                       {"within the budget", DataUnit::Words},
                       {"trains", DataUnit::Words},
                       {"settings", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

BarsModel fit_bars(const FittedPlan& found, const SettingNames& titles) {
  const bool large = found.start.figures.reserved.value >= static_cast<std::int64_t>(kGibi);
  const double unit = large ? kGibi : kMebi;
  BarsModel bars;
  bars.title = "Memory of the fullest device, lever by lever";
  bars.unit = large ? "GiB" : "MiB";
  for (int c = 0; c < kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    std::string name(to_string(category));
    std::replace(name.begin(), name.end(), '_', ' ');
    bars.parts.push_back({name, ink_of(category)});
  }
  bars.parts.push_back({"reserved beyond tensors", Ink::Text3, /*idle=*/true});
  bars.rows.push_back({kPlanItself, parts_of(found.start.figures, unit)});
  for (const FitStep& step : found.steps)
    bars.rows.push_back({titled(step.words, titles), parts_of(step.after.figures, unit)});
  drop_empty_parts(bars);
  bars.marks.push_back({bars.rows.size() - 1, static_cast<double>(found.budget.value) / unit,
                        "budget " + readable(found.budget), /*truth=*/true});
  return bars;
}

FitCharts fit_charts(const FittedPlan& found, const SettingNames& name) {
  FitCharts charts{fit_bars(found, name), fit_points(found), {}, {}};
  for (const FitPlan& plan : placed_plans(found)) {
    charts.plans.push_back(titled(plan.words, name));
    charts.changes.push_back(plan.changes);
  }
  return charts;
}

void draw_fit(Drawing& drawing, const Rect& area, const FitCharts& charts, Item selected) {
  const float bars = area.width * kBarsShare;
  draw_bars(drawing, {area.x, area.y, bars, area.height}, charts.bars);
  ParetoState state;
  if (selected.kind == ItemKind::Dot) state.selected = selected.tag;
  draw_pareto(drawing, {area.x + bars, area.y, area.width - bars, area.height}, charts.points,
              state, "budget");
}

Hover describe_fit(const FitCharts& charts, Item item) {
  if (item.kind != ItemKind::Dot || item.tag >= charts.plans.size())
    return describe_bars(charts.bars, item);
  return describe_point(charts.points, item.tag, charts.plans[item.tag], charts.changes[item.tag]);
}

std::string fit_words(const FitCharts& charts) {
  return bars_words(charts.bars) + " " + pareto_words(charts.points) + ".";
}

Drawing fit_picture(const FittedPlan& found) {
  const FitCharts charts = fit_charts(found);
  Drawing drawing({kFitWidth, std::max(kFitHeight, bars_height(charts.bars))});
  draw_fit(drawing, whole(drawing.size), charts);
  return drawing;
}

}  // namespace trainyard
