#include "app/workspace/scenario/run_once.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/workspace/scenario/prices.h"
#include "backends/simulator/simulator.h"
#include "core/estimate/estimate.h"
#include "core/memory/process_bytes.h"
#include "core/methods/memory/offload.h"
#include "core/methods/parallel/waiting_devices.h"
#include "core/result/verdict.h"
#include "core/timeline/metrics.h"
#include "core/validation/bands.h"

namespace trainyard {
namespace {

// About four gigabytes of program, timeline and waves; with more, a machine would swap before it
// answers.
constexpr double kMostInstructions = 20e6;

double instructions(const Workload& workload, Grain grain) {
  // Instructions per microbatch: a phase with its collectives, sends and receives; or every op of
  // every layer.
  double each = 0;
  for (const std::vector<Workload::Run>& stage : workload.runs) {
    if (grain == Grain::Order) each += 6;
    if (grain == Grain::Op)
      for (const Workload::Run& run : stage) {
        const Body& body = workload.bodies[static_cast<std::size_t>(run.body)];
        each += static_cast<double>(run.count) *
                static_cast<double>(body.forward.size() + body.backward.size());
      }
  }
  return each * microbatches(workload.scenario.plan);
}

void refuse_giants(const Workload& workload, Grain grain, int steps) {
  const double count = instructions(workload, grain) * steps;
  if (count <= kMostInstructions) return;
  throw Error(
      Error::Kind::InvalidInput,
      fmt::format("{} microbatches a step{} would be some {:.0f} million instructions, and at most "
                  "{:.0f} million "
                  "are simulated; try a larger micro-batch{}, or estimate, which counts none",
                  microbatches(workload.scenario.plan),
                  steps > 1 ? fmt::format(" in {} steps", steps) : "", count / 1e6,
                  kMostInstructions / 1e6,
                  written_grain(workload, Grain::Order) != grain ? ", order grain" : ""),
      {"plan#/batch/global"});
}

// Op grain is the default only for programs up to this size, because dragging a knob simulates the
// plan again and again and has to stay fast.
constexpr double kMostByItself = 2e6;

Grain grain_of(const Program& program) {
  const bool ops = std::any_of(program.tasks.begin(), program.tasks.end(),
                               [](const Task& task) { return task.node.valid(); });
  return ops ? Grain::Op : Grain::Order;
}

// Everything about a given program that is not as in the one which the plan is lowered to, and has
// to be, because prices, memory and views follow from the plan.
Diagnostics unfit(const Program& given, const Program& lowered, const Workload& workload) {
  Diagnostics found;
  const auto refuse = [&](std::string place, std::string sentence) {
    if (found.size() < 20)
      found.push_back(
          {Diagnostic::Severity::Error, std::move(sentence), {"--program: " + place}, ""});
  };
  const auto same = [&](std::string_view key, const auto& is, const auto& wanted) {
    if (is != wanted)
      refuse("program", fmt::format("expected {}={}, as this model, cluster and plan have, found "
                                    "{}={}",
                                    key, wanted, key, is));
  };
  same("devices", given.devices, lowered.devices);
  same("stages", given.stages, lowered.stages);
  same("placement", to_string(given.placement), to_string(lowered.placement));
  same("microbatches", given.microbatches, lowered.microbatches);
  same("steps", given.steps, lowered.steps);
  same("replicas", given.replicas, lowered.replicas);
  same("shard", given.shard, lowered.shard);
  if (!found.empty()) return found;

  std::vector<std::size_t> nodes;  // by layer of the model
  for (const Block& block : workload.scenario.model.blocks)
    nodes.insert(nodes.end(), static_cast<std::size_t>(block.count), block.graph.nodes.size());
  for (std::size_t t = 0; t < given.tasks.size(); ++t) {
    const Task& task = given.tasks[t];
    const auto layers = static_cast<std::int64_t>(nodes.size());
    if (task.layer < -1 || task.layer >= layers)
      refuse(fmt::format("task {}", t),
             fmt::format("expected a layer from 0 to {}, found {}", layers - 1, task.layer));
    else if (task.node.valid() &&
             (task.layer < 0 || task.node.value >= nodes[static_cast<std::size_t>(task.layer)]))
      refuse(fmt::format("task {}", t), fmt::format("expected a node of layer {}, found node={}",
                                                    task.layer, task.node.value));
  }
  const std::int64_t all = std::int64_t{given.microbatches} * given.steps;
  for (std::uint32_t i = 0; i < given.instructions.size(); ++i)
    if (const std::int32_t m = given.instructions[i].microbatch;
        m < 0 || m >= std::max<std::int64_t>(1, all))
      refuse(fmt::format("instruction {} ({})", i, describe(given, {i})),
             fmt::format("expected a microbatch from 0 to {}, found {}", all - 1, m));
  return found;
}

}  // namespace

Grain natural_grain(const Scenario& scenario) {
  if (offloaded_layers(scenario.plan)) return Grain::Op;
  if (scenario.plan.mesh.pp > 1) return Grain::Order;
  const Workload workload = prepare(scenario);
  if (workload.table.size() > 1) return Grain::Order;
  const ScheduleShape shape =
      schedule_shape(workload, phase_times(workload, *cost_model(workload.scenario)));
  const double ops = instructions(workload, Grain::Op) * shape.steps;
  return ops <= kMostByItself && order(workload, shape).lanes.size() > 1 ? Grain::Op : Grain::Order;
}

namespace {

// The replica whose pipeline takes longest depends on how much each of its ranks computes.
TaskPrices prices_when_slow(const Workload& workload, const Program& program,
                            const CostModel& cost) {
  const Scenario& scenario = workload.scenario;
  TaskPrices equal = price(program, scenario.plan.mesh, scenario.cluster, cost);
  if (!has_slow_devices(scenario.cluster.slowness)) return equal;
  std::vector<double> computes(static_cast<std::size_t>(program.devices), 0.0);
  for (const Stream& stream : program.streams)
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const TaskId task = program.instructions[i].task;
      if (program.tasks[task.value].kind == TaskKind::Compute)
        computes[stream.device.value] += to_seconds(equal.time[task.value]);
    }
  return price(program, scenario.plan.mesh, scenario.cluster, cost,
               drawn_slowness(scenario, computes));
}

}  // namespace

std::shared_ptr<Experiment> run_once(const Scenario& scenario, const OnceOptions& options) {
  auto experiment = std::make_shared<Experiment>();
  experiment->workload = prepare(scenario);
  const Workload& workload = experiment->workload;
  experiment->grain = written_grain(workload, options.grain);
  refuse_giants(workload, experiment->grain, std::max(1, options.steps));
  const std::unique_ptr<CostModel> own = options.cost == nullptr ? cost_model(scenario) : nullptr;
  const CostModel& cost = own ? *own : *options.cost;
  std::optional<TaskPrices> prices;  // of the program's tasks, where lowering has asked for them
  const auto price_of = [&](const Program& program) {
    return prices_when_slow(workload, program, cost);
  };
  experiment->program =
      lower(workload, {.grain = options.grain,
                       .steps = options.steps,
                       .times = phase_times(workload, cost),
                       .price =
                           [&](const Program& p) {
                             prices = price_of(p);
                             return prices->time;
                           },
                       .framework = bytes_of_processes(workload, processes(workload, cost)),
                       .stop = options.stop});
  if (options.program != nullptr) {
    throw_if_errors(unfit(*options.program, experiment->program, workload));
    experiment->program = *options.program;
    experiment->grain = grain_of(experiment->program);
  }
  const bool priced = prices && options.program == nullptr;
  experiment->prices = priced ? std::move(*prices) : price_of(experiment->program);
  BackendRun run = Simulator({workload, experiment->program, experiment->prices})
                       .run({.stop = options.stop, .progress = {}});
  experiment->timeline = std::move(run.timeline);
  experiment->waves = std::move(run.waves);
  experiment->result = summarize(workload, experiment->grain, experiment->program,
                                 experiment->prices, experiment->timeline, experiment->waves, cost);
  state_bands(experiment->result, workload, cost);
  return experiment;
}

}  // namespace trainyard
