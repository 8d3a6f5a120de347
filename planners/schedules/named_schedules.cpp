#include "planners/schedules/named_schedules.h"

#include "planners/schedules/named_lanes.h"

namespace trainyard {

std::vector<NamedSchedule> named_schedules(const ScheduleProblem& problem) {
  const Pipeline p = make_pipeline(problem);
  std::vector<NamedSchedule> found;
  for (auto& [name, order] : named_orders(p)) {
    if (!lanes_of(p, order)) continue;
    OrderTiming timing = time_order(order, problem);
    found.push_back({std::string(name), std::move(order), std::move(timing)});
  }
  return found;
}

}  // namespace trainyard
