#include "backends/reference/schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backends/reference/execution_order.h"
#include "backends/stage_place.h"
#include "core/model/trained_parts.h"

namespace trainyard {
namespace {

bool is_expert(const Tensor& tensor) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(),
                     [](const Dim& d) { return d.axis == Axis::Experts; });
}

// A table is read by rows; a product reads it as [in, out].
bool reads_transposed(const Graph& graph, TensorId tensor) {
  for (const Node& node : graph.nodes)
    if (std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end())
      return node.op->name == "matmul";
  return false;
}

}  // namespace

ReferenceSchedule::ReferenceSchedule(const Workload& w, const Program& p)
    : workload(w),
      program(p),
      replicas(static_cast<int>(p.replicas)),
      shard(static_cast<int>(p.shard)),
      average(wave_average(w.scenario.plan)) {
  for (const Body& body : w.bodies) plans.push_back(layer_plan(w, body));
  add_places();
  count_waves();
  const std::vector<DeviceId> devices = devices_of_instructions();
  for (InstructionId id : execution_order(p)) add_step(id, devices[id.value]);
}

std::vector<DeviceId> ReferenceSchedule::devices_of_instructions() const {
  std::vector<DeviceId> devices(program.instructions.size());
  for (const Stream& stream : program.streams)
    std::fill_n(devices.begin() + stream.first, stream.count, stream.device);
  return devices;
}

void ReferenceSchedule::add_places() {
  const Program& p = program;
  const int per_stage = copies(p.placement);
  layer_of_.assign(static_cast<std::size_t>(layer_count(workload.scenario.model)) +
                       workload.scenario.model.blocks.size() + 1,
                   -1);
  for (std::uint32_t s = 0; s < workload.runs.size(); ++s)
    for (int copy = 0; copy < per_stage; ++copy) {
      StagePlace place;
      place.stage = {s};
      place.device = device_of({s}, p.devices, p.stages, p.placement, copy);
      for (const Workload::Run& run : workload.runs[s])
        for (int i = 0; i < run.count; ++i) {
          const auto layer =
              static_cast<std::size_t>(run.first_layer) + static_cast<std::size_t>(i);
          if (layer >= layer_of_.size()) layer_of_.resize(layer + 1, -1);
          layer_of_[layer] = static_cast<std::int32_t>(place.plans.size());
          place.plans.push_back(run.body);
          place.model_layers.push_back(run.first_layer + i);
        }
      add_parameters(place);
      const auto same_device = [&](std::int64_t stage) {
        const bool exists = stage >= 0 && stage < p.stages;
        if (!exists || device_of({static_cast<std::uint32_t>(stage)}, p.devices, p.stages,
                                 p.placement, copy) != place.device)
          return -1;
        return static_cast<std::int32_t>(stage * per_stage + copy);
      };
      place.before = same_device(std::int64_t{s} - 1);
      place.after = same_device(std::int64_t{s} + 1);
      places.push_back(std::move(place));
    }
}

void ReferenceSchedule::add_parameters(StagePlace& place) {
  const Model& model = workload.scenario.model;
  std::map<std::string, int> by_name;  // "BLOCK/TENSOR" of the block's first layer
  for (std::size_t layer = 0; layer < place.plans.size(); ++layer) {
    const LayerPlan& plan = plans[static_cast<std::size_t>(place.plans[layer])];
    const std::string& block = model.blocks[static_cast<std::size_t>(plan.block)].name;
    place.tensors.push_back(plan.graph->tensors.size());
    place.of_layer.emplace_back();
    for (std::uint32_t t = 0; t < plan.graph->tensors.size(); ++t) {
      const Tensor& tensor = plan.graph->tensors[t];
      if (tensor.kind != TensorKind::Parameter) continue;
      StageParameter made;
      made.layer = layer;
      made.model_layer = place.model_layers[layer];
      made.block = plan.block;
      made.tensor = {t};
      made.name = tensor.name;
      made.shape = local_shape(tensor, workload.layout.binding);
      made.expert = is_expert(tensor);
      made.frozen = is_frozen(*plan.graph, {t});
      if (const auto owner = by_name.find(tensor.tied_to); owner != by_name.end()) {
        made.shares = owner->second;
        made.transposed = reads_transposed(*plan.graph, {t});
      }
      const auto index = static_cast<int>(place.parameters.size());
      by_name.try_emplace(block + "/" + tensor.name, index);
      place.of_layer.back().push_back(static_cast<std::uint32_t>(index));
      place.parameters.push_back(std::move(made));
    }
  }
}

std::size_t ReferenceSchedule::place_of(StageId stage, DeviceId device, std::int16_t wave) const {
  return stage_place(program, stage, device, wave);
}

// Which gradients an update takes follows from who updates: a lane takes its own where several do.
void ReferenceSchedule::count_waves() {
  std::vector<std::set<std::uint32_t>> lanes(places.size());
  for (std::uint32_t s = 0; s < program.streams.size(); ++s)
    for (std::uint32_t i = program.streams[s].first;
         i < program.streams[s].first + program.streams[s].count; ++i) {
      const Instruction& in = program.instructions[i];
      const Task& task = program.task(in);
      const std::size_t at = place_of(task.stage, program.streams[s].device, in.wave);
      places[at].waves = std::max(places[at].waves, in.wave + 1);
      if (task.kind != TaskKind::Compute || task.phase != Phase::Update) continue;
      lanes[at].insert(s);
    }
  for (std::size_t at = 0; at < places.size(); ++at) {
    places[at].own_waves = lanes[at].size() > 1;
    if (average.every > 0) places[at].reads.resize(static_cast<std::size_t>(places[at].waves));
  }
}

void ReferenceSchedule::add_step(InstructionId id, DeviceId device) {
  const Instruction& in = program.instructions[id.value];
  const Task& task = program.task(in);
  Step step;
  step.wave = in.wave, step.weights = in.weights, step.microbatch = in.microbatch;
  step.node = task.node, step.instruction = id;
  step.place = static_cast<std::uint32_t>(place_of(task.stage, device, in.wave));
  if (task.layer >= 0) step.layer = layer_of_[static_cast<std::size_t>(task.layer)];
  StagePlace& place = places[step.place];
  switch (task.kind) {
    case TaskKind::Compute: {
      if (task.phase == Phase::Update) {
        step.kind = StepKind::Update;
        break;
      }
      const WorkCount& work = program.works[task.first_work];
      step.pass = work.pass;
      step.kind = work.recomputed              ? StepKind::Recompute
                  : work.pass == Pass::Forward ? StepKind::Forward
                                               : StepKind::Backward;
      const auto version = static_cast<std::size_t>(std::max<int>(0, in.weights));
      std::vector<std::int32_t>& reads = place.reads[place.set_of(in.wave)];
      if (version >= reads.size()) reads.resize(version + 1, 0);
      ++reads[version];
      break;
    }
    case TaskKind::HostUpdate:  // the first of a stage's layers stands for all
      if (std::exchange(place.updated, in.microbatch) == in.microbatch) return;
      step.kind = StepKind::Update;
      step.layer = -1;
      break;
    case TaskKind::HostCopy:  // of what stays where it is
    case TaskKind::NvmeRead:
    case TaskKind::NvmeWrite:
    case TaskKind::Send:  // its receive moves the message
      return;
    case TaskKind::Receive: {
      step.kind = StepKind::Receive;
      step.forward_message = task.phase == Phase::Forward;
      const Instruction& sender = program.instructions[in.peer.value];
      std::uint32_t stream = 0;
      while (in.peer.value - program.streams[stream].first >= program.streams[stream].count)
        ++stream;
      step.other = static_cast<std::uint32_t>(
          place_of(program.task(sender).stage, program.streams[stream].device, sender.wave));
      break;
    }
    case TaskKind::Collective:
      if (task.collective == CollectiveKind::AllGather) return;  // every replica has the weights
      if (task.group == Group::Copies) {
        step.kind = StepKind::ReduceCopies;
        step.other = step.place ^ 1u;
        // Two instructions are one exchange: the one that comes last does it.
        if (in.peer.value > id.value) return;
        break;
      }
      step.kind = task.group == Group::Shard ? StepKind::ReduceShards : StepKind::ReduceReplicas;
      step.experts = task.group == Group::ExpertData;
      break;
  }
  steps.push_back(step);
}

}  // namespace trainyard
