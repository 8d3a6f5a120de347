#include "core/lowering/workload.h"

#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/methods/orders/forward_only.h"
#include "core/model/trained_parts.h"

namespace trainyard {

namespace {

ScheduleShape shape_of(const Scenario& s, const std::vector<Stage>& table, const PhaseTimes& times,
                       int steps) {
  const Plan& plan = s.plan;
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
  shape.forward_only = forward_only_stages(s.model, table);
  return shape;
}

}  // namespace

int forward_only_stages(const Model& model, const std::vector<Stage>& table) {
  const auto has_trained = [&](const Stage& stage) {
    return std::any_of(stage.runs.begin(), stage.runs.end(), [&](const LayerRun& run) {
      return trains(model.blocks[static_cast<std::size_t>(run.block)]);
    });
  };
  if (!any_frozen(model)) return 0;
  const auto first = std::find_if(table.begin(), table.end(), has_trained);
  return static_cast<int>(first - table.begin());
}

ScheduleShape schedule_shape(const Workload& w, const PhaseTimes& times, int steps) {
  return shape_of(w.scenario, w.table, times, steps);
}

ScheduleShape schedule_shape(const Scenario& s, const PhaseTimes& times, int steps) {
  return shape_of(s, stages(s.model, s.plan, schedule_of(s.plan).placement), times, steps);
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
  return order_of(method(choice.method), choice.params, shape);
}

}  // namespace trainyard
