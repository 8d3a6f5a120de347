#include "core/lowering/workload.h"

#include <algorithm>

#include "core/methods/catalogue.h"

namespace trainyard {

ScheduleShape schedule_shape(const Plan& plan, const PhaseTimes& times, int steps) {
  const Choice& choice = *chosen_on(plan, MethodAxis::Schedule);
  const Method& schedule = method(choice.method);
  ScheduleShape shape;
  shape.devices = plan.mesh.pp;
  shape.stages = plan.mesh.pp * plan.virtual_stages;
  shape.microbatches = microbatches(plan);
  shape.times = times;
  shape.placement = schedule.placement;
  shape.steps = std::max(1, steps);
  if (steps == 0 && schedule.settles)
    shape.steps = std::max(1, schedule.settles(shape, choice.params) + 1);
  return shape;
}

ScheduleShape schedule_shape(const Workload& w, const PhaseTimes& times, int steps) {
  return schedule_shape(w.scenario.plan, times, steps);
}

BackwardKinds backward_kinds(const Order& order) {
  BackwardKinds found;
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions) {
      found.whole |= a.phase == Phase::Backward;
      found.split |= a.phase == Phase::BackwardInput;
    }
  return found;
}

bool splits_backward(const Workload& w) {
  return w.edited ? backward_kinds(*w.edited).split : schedule_of(w.scenario.plan).splits_backward;
}

Order order(const Workload& w, const ScheduleShape& shape) {
  if (w.edited) return *w.edited;
  const Choice& choice = *chosen_on(w.scenario.plan, MethodAxis::Schedule);
  return method(choice.method).order(shape, choice.params);
}

}  // namespace trainyard
