#include "visualizers/schedule/schedules_view.h"

#include <algorithm>
#include <utility>

namespace trainyard {

DataTable schedules_table(const SchedulesModel& model) {
  std::vector<std::vector<DataCell>> rows;
  for (const SchedulePanel& panel : model.panels) {
    std::int64_t peak = 0;
    for (const StepCurve& curve : panel.memory.totals) peak = std::max(peak, peak_bytes(curve));
    const bool ran = !panel.timeline.ranks.empty();
    rows.push_back(
        {panel.name, panel.changed, ran ? DataCell{panel.step.length().count()} : DataCell{},
         ran ? DataCell{peak} : DataCell{}, model.budget.value, panel.why_not, panel.tokens});
  }
  return listed_table("Schedules",
                      {{"schedule", DataUnit::Words},
                       {"changed", DataUnit::Words},
                       {"step", DataUnit::StepTime},
                       {"memory of the fullest device", DataUnit::ByteCount},
                       {"budget", DataUnit::ByteCount},
                       {"why not", DataUnit::Words},
                       {"token efficiency", DataUnit::Words}},
                      std::move(rows));
}

}  // namespace trainyard
