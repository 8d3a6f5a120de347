#include "visualizers/plans/pareto_model.h"

#include <utility>

namespace trainyard {
namespace {

std::string_view fate_word(ParetoFate fate) {
  switch (fate) {
    case ParetoFate::TooLarge:
      return "too large";
    case ParetoFate::Dominated:
      return "dominated";
    case ParetoFate::Front:
      return "front";
    case ParetoFate::Best:
      return "best";
  }
  return "";
}

}  // namespace

DataTable pareto_table(const ParetoModel& model,
                       const std::function<std::string(std::uint64_t)>& plan_words) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const ParetoPoint& point : model.points) {
    items.push_back({ItemKind::Dot, rows.size()});
    const bool named = point.family < model.families.size();
    rows.push_back({plan_words ? DataCell{plan_words(point.id)} : DataCell{},
                    named ? DataCell{model.families[point.family]} : DataCell{},
                    std::string(fate_word(point.fate)), seconds(point.step).count(),
                    static_cast<std::int64_t>(point.memory),
                    point.money > 0 ? DataCell{point.money} : DataCell{},
                    std::string(point.bound ? "at least" : "priced")});
  }
  return listed_table("Plans",
                      {{"plan", DataUnit::Words},
                       {"family", DataUnit::Words},
                       {"fate", DataUnit::Words},
                       {"step", DataUnit::StepTime},
                       {"memory of the fullest device", DataUnit::ByteCount},
                       {"cost per step", DataUnit::Money},
                       {"figures", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

}  // namespace trainyard
