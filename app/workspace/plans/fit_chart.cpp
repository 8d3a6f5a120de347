#include "app/workspace/plans/fit_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "visualizers/time/memory_model.h"

namespace trainyard {
namespace {

constexpr float kFitWidth = 1000;
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

}  // namespace

BarsModel fit_bars(const FittedPlan& found) {
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
  bars.rows.push_back({"the plan", parts_of(found.start.figures, unit)});
  for (const FitStep& step : found.steps)
    bars.rows.push_back({step.words, parts_of(step.after.figures, unit)});
  drop_empty_parts(bars);
  bars.marks.push_back({bars.rows.size() - 1, static_cast<double>(found.budget.value) / unit,
                        "budget " + readable(found.budget), /*truth=*/true});
  return bars;
}

Drawing fit_picture(const FittedPlan& found) {
  const BarsModel bars = fit_bars(found);
  Drawing drawing({kFitWidth, bars_height(bars)});
  draw_bars(drawing, whole(drawing.size), bars);
  return drawing;
}

}  // namespace trainyard
