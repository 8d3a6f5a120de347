#include "visualizers/compare/waterfall_view.h"

#include <utility>

namespace trainyard {

DataTable waterfall_table(const std::vector<WaterfallModel>& models) {
  std::vector<std::vector<DataCell>> rows;
  for (const WaterfallModel& model : models) {
    const bool time = model.unit == WaterfallUnit::Time;
    const auto figures = [&](std::int64_t a, std::int64_t b) {
      std::vector<DataCell> row(6);
      const std::size_t at = time ? 0 : 3;
      row[at] = a, row[at + 1] = b, row[at + 2] = b - a;
      return row;
    };
    const auto add = [&](const std::string& cause, std::int64_t a, std::int64_t b) {
      std::vector<DataCell> row{model.title, cause};
      for (DataCell& cell : figures(a, b)) row.push_back(std::move(cell));
      rows.push_back(std::move(row));
    };
    for (const WaterfallPart& part : model.parts) add(part.name, part.a, part.b);
    add("sum", model.a(), model.b());
  }
  return listed_table("Difference",
                      {{"of", DataUnit::Words},
                       {"cause", DataUnit::Words},
                       {"time of A", DataUnit::Time},
                       {"time of B", DataUnit::Time},
                       {"time, B less A", DataUnit::Time},
                       {"memory of A", DataUnit::ByteCount},
                       {"memory of B", DataUnit::ByteCount},
                       {"memory, B less A", DataUnit::ByteCount}},
                      std::move(rows));
}

}  // namespace trainyard
