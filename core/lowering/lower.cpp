// Lowering is the list of steps in kSteps: each writes its part into the draft that they share.
#include "core/lowering/lower.h"

#include <string>

#include "core/lowering/hold_phase.h"
#include "core/lowering/lowering.h"

namespace trainyard {

Lowering::Lowering(const Workload& w, const Order& o, int step_count, Grain chosen,
                   const std::vector<Bytes>& framework_bytes, Stop asked)
    : workload(w),
      order(o),
      grain(written_grain(w, chosen)),
      framework(framework_bytes),
      stop(asked),
      stages(w.table.size()),
      microbatches(trainyard::microbatches(w.scenario.plan)),
      steps(step_count),
      asynchronous(has_updates(o)),
      places(w),
      boundaries(w, places, draft),
      transfers(w, places, boundaries, o, draft, microbatches * steps),
      host(w, places, o, grain, draft) {
  Program& program = draft.program;
  program.devices = w.scenario.plan.mesh.pp;
  program.stages = static_cast<int>(stages);
  program.placement = w.placement;
  program.microbatches = microbatches;
  program.steps = steps;
  program.replicas = w.scenario.cluster.count / program.devices;
  program.shard = w.shard;
}

std::size_t Lowering::first_lane(DeviceId device) const {
  std::size_t i = 0;
  while (i < order.lanes.size() && order.lanes[i].device != device) ++i;
  return i;
}

void make_phase_writer(Lowering& l) {
  const auto make = l.grain == Grain::Order ? order_grain : op_grain;
  l.writer = make(l.workload, l.places, l.boundaries, l.draft, backward_kinds(l.order), l.host);
  for (std::size_t place = 0; l.host.moves_stages() && place < l.places.size(); ++place)
    l.host.make_copies(place, l.writer->kept(place));
}

void start_copies(Lowering& l) {
  if (LayerCopies* const layers = l.host.layers()) layers->choose_starts(l.price);
}

Program finish(Lowering& l) { return l.draft.finish(); }

namespace {

struct Step {
  std::string_view name;
  void (*run)(Lowering&);
};
constexpr Step kSteps[] = {
    {"make streams", make_streams},           {"hold state", hold_state},
    {"make phase writer", make_phase_writer}, {"write actions", write_actions},
    {"start copies", start_copies},           {"add waits between lanes", add_waits_between_lanes},
};

/// In debug builds every step leaves a sound draft, so that a broken one is found where it is made.
void verify_draft([[maybe_unused]] const Lowering& l, [[maybe_unused]] const Step& step) {
#ifdef TRAINYARD_VERIFY_STEPS
  const std::string wrong = l.draft.first_wrong();
  if (!wrong.empty())
    throw Error(Error::Kind::Internal,
                "after the lowering step \"" + std::string(step.name) + "\": " + wrong);
#endif
}

// A longer program takes gigabytes. check() keeps one step at order grain below this.
constexpr double kMostInstructions = 1 << 26;

void expect_room(const Workload& w, const LowerOptions& options, int steps) {
  double a_microbatch = 0;
  for (const std::vector<Workload::Run>& runs : w.runs) {
    constexpr double kAtOrderGrain = 16;  // two phases with their collectives and transfers
    const Grain grain = written_grain(w, options.grain);
    if (grain == Grain::Order) a_microbatch += kAtOrderGrain;
    if (grain == Grain::Op)
      for (const Workload::Run& run : runs) {
        const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
        a_microbatch += static_cast<double>(body.forward.size() + body.backward.size()) * run.count;
      }
  }
  const double count = a_microbatch * microbatches(w.scenario.plan) * steps;
  if (count > kMostInstructions)
    throw Error(Error::Kind::InvalidInput,
                "the program would have some " + std::to_string(static_cast<std::int64_t>(count)) +
                    " instructions, more than 2^26; order grain, fewer steps or a smaller "
                    "global-batch need fewer",
                {"plan#/batch/global"});
}

}  // namespace

Grain written_grain(const Workload& w, Grain asked) {
  return w.layout.layers_in_flight > 0 ? Grain::Op : asked;
}

Program lower(const Workload& w, const LowerOptions& options) {
  const ScheduleShape shape = schedule_shape(w, options.times, options.steps);
  expect_room(w, options, shape.steps);
  return lower(w, order(w, shape), shape.steps, options);
}

Program lower(const Workload& w, const Order& order, int steps, const LowerOptions& options) {
  expect_room(w, options, steps);
  Lowering lowering(w, order, steps, options.grain, options.framework, options.stop);
  lowering.price = options.price;
  for (const Step& step : kSteps) {
    step.run(lowering);
    verify_draft(lowering, step);
  }
  Program program = finish(lowering);
  if (shares_devices(order))
    hold_phase(program, order,
               options.price ? options.price(program)
                             : std::vector<Duration>(program.tasks.size(), Duration{1}));
  if (options.verify) throw_if_errors(verify(program));
  return program;
}

Program lower(const Scenario& scenario, const LowerOptions& options) {
  return lower(prepare(scenario), options);
}

}  // namespace trainyard
