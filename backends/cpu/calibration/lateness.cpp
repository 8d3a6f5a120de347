#include "backends/cpu/calibration/lateness.h"

#include <algorithm>

#include "core/lowering/lane_facts.h"
#include "core/methods/catalogue.h"
#include "core/training/training.h"

namespace trainyard {

UpdateRule late_rule(const Plan& plan) {
  StageFacts facts;
  facts.forward_delay = 2, facts.mean_delay_thousandths = 2000;
  const Choice* schedule = chosen_on(plan, MethodAxis::Schedule);
  if (schedule == nullptr) return {};
  return update_rule_of(schedule->method, schedule->params, facts, 1e-4,
                        plan.optimizer == "momentum" ? Training{}.momentum : 0);
}

std::vector<int> older_versions(const Workload& w) {
  std::vector<int> most(w.runs.size());
  const Order o = order(w, schedule_shape(w));
  for (const Lane& lane : o.lanes) {
    const std::vector<int> more = held_versions(lane, w.runs.size());
    std::vector<int> now(w.runs.size());
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      const std::size_t stage = lane.actions[i].stage.value;
      most[stage] = std::max(most[stage], now[stage] += more[i]);
    }
  }
  return most;
}

}  // namespace trainyard
