#include "planners/plans/holdings.h"

#include "core/methods/catalogue.h"
#include "core/methods/orders/closed_form.h"

namespace trainyard {
namespace {

constexpr Duration kUnit{1000};

// Gives every phase of every stage the same duration.
PipelineTimes unit_times(const Method& schedule, std::size_t stages) {
  PipelineTimes times;
  times.forward.assign(stages, {{}, kUnit, {}, {}, {}});
  times.backward.assign(stages, {{}, 2 * kUnit, {}, {}, {}});
  if (schedule.splits_backward) {
    times.backward_input.assign(stages, {{}, kUnit, {}, {}, {}});
    times.backward_weight.assign(stages, {{}, kUnit, {}, {}, {}});
  }
  if (schedule.settles) {
    times.update.assign(stages, kUnit);
    times.publish.assign(stages, Duration{});
  }
  return times;
}

}  // namespace

Holdings holdings(const Choice& choice, int pp, int virtual_stages, int microbatches,
                  bool layers_wait) {
  const Method& schedule = method(choice.method);
  const Params params = with_defaults(choice.params, schedule.params);
  ScheduleShape shape;
  shape.devices = pp, shape.stages = pp * virtual_stages, shape.microbatches = microbatches;
  shape.placement = schedule.placement;
  shape.times = {kUnit, schedule.splits_backward ? kUnit : 2 * kUnit,
                 schedule.splits_backward ? kUnit : Duration{}, Duration{}};
  const auto stages = static_cast<std::size_t>(shape.stages);
  const PipelineEstimate found =
      estimate_pipeline(schedule, params, shape, unit_times(schedule, stages));
  Holdings h;
  h.placement = schedule.placement, h.splits_backward = schedule.splits_backward;
  h.paced = found.paced, h.shared = choice.method == "tick-tock";
  h.pairs = (layers_wait && schedule.decide) || has_pairs(schedule.order(shape, params));
  h.older_versions = found.older_versions;
  h.moments = found.moments;
  for (std::uint32_t s = 0; s < stages; ++s)
    for (int copy = 0; copy < copies(h.placement); ++copy)
      h.device.push_back(static_cast<std::uint16_t>(
          device_of(StageId{s}, pp, shape.stages, h.placement, copy).value));
  return h;
}

}  // namespace trainyard
