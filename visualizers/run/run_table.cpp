#include "visualizers/run/run_view.h"

#include <utility>

#include "visualizers/run/run_causes.h"
#include "visualizers/run/run_panels.h"
#include "visualizers/run/run_ratios.h"
#include "visualizers/run/run_readings.h"

namespace trainyard {

DataTable run_table(const RunModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  const auto add = [&](const std::string& what, std::initializer_list<std::int64_t> figures,
                       std::size_t at, const std::string& cause, Item item) {
    std::vector<DataCell> row(has_ratios(model) ? 8 : 7);
    row[0] = what;
    for (const std::int64_t figure : figures) row[at++] = figure;
    if (!cause.empty()) row[6] = cause;
    rows.push_back(std::move(row)), items.push_back(item);
  };
  const auto add_all = [&](const std::optional<RunResiduals>& residuals, std::size_t at,
                           std::uint64_t tag) {
    if (!residuals) return;
    std::vector<RunResidual> parts = residuals->parts;
    parts.push_back(residuals->sum);
    for (const RunResidual& part : parts)
      add(residuals->of + ": " + part.name, {part.predicted, part.measured}, at, part.cause,
          {ItemKind::Other, tag++});
  };
  if (model.predicted) {
    add_all(time_residuals(model), 2, kTimeTag);
    if (model.comparison) add_all(memory_residuals(model), 4, kMemoryTag);
    if (model.aligned)
      add("peak, waves aligned", {model.aligned->peak.value}, 4, "", {ItemKind::Peak, 0});
    if (const auto furthest = largest_deviation(model))
      add(furthest->name + ", largest deviation",
          {furthest->predicted.count(), furthest->measured.length().count()}, 2, "",
          {ItemKind::Span, furthest->first.value});
  }
  std::uint64_t update = 0;
  for (const double loss : model.losses) {
    add("update " + std::to_string(update + 1), {}, 0, "", {ItemKind::Dot, update});
    rows.back()[1] = loss;
    if (const double ratio = ratio_of_update(model, update); ratio > 0) rows.back()[7] = ratio;
    ++update;
  }
  std::vector<DataColumn> columns = {{"what", DataUnit::Words},
                                     {"loss", DataUnit::Number},
                                     {"time predicted", DataUnit::Time},
                                     {"time measured", DataUnit::Time},
                                     {"memory predicted", DataUnit::ByteCount},
                                     {"memory measured", DataUnit::ByteCount},
                                     {"likely cause", DataUnit::Words}};
  if (has_ratios(model))
    columns.push_back(
        {model.orthogonality.empty() ? "energy sent" : "orthogonality", DataUnit::Number});
  return listed_table("Run", std::move(columns), std::move(rows), std::move(items));
}

}  // namespace trainyard
