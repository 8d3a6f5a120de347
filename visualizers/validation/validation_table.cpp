#include "visualizers/validation/validation_view.h"

#include <utility>

namespace trainyard {

DataTable validation_table(const ValidationModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const ValidationPoint& point : model.points) {
    items.push_back({ItemKind::Dot, rows.size()});
    rows.push_back({point.id, model.sources[point.source].full, point.model, point.cluster,
                    point.plan, std::string(point.memory ? "memory in B" : "time in s"),
                    point.measured, point.predicted, point.low, point.high, point.error,
                    std::string(point.counts ? "yes" : "no"), point.note});
  }
  return listed_table("Published results",
                      {{"row", DataUnit::Words},
                       {"source", DataUnit::Words},
                       {"model", DataUnit::Words},
                       {"cluster", DataUnit::Words},
                       {"plan", DataUnit::Words},
                       {"figure", DataUnit::Words},
                       {"measured", DataUnit::Number},
                       {"predicted", DataUnit::Number},
                       {"low", DataUnit::Number},
                       {"high", DataUnit::Number},
                       {"error", DataUnit::Share},
                       {"counts", DataUnit::Words},
                       {"why not", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

}  // namespace trainyard
