// One step from stage times: the schedule's closed form in the middle, weights arriving before it,
// gradients and the update after it.
#include <numeric>

#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

ActionTime action_time(const PhaseTime& p) {
  return {p.lead, p.compute, p.blocking(), p.gather, p.beside};
}

PipelineTimes pipeline_times(const Workload& w, const std::vector<StageTime>& stages,
                             Duration transfer) {
  PipelineTimes times;
  times.transfer = transfer;
  times.reduce_every = w.layout.reduce_every_microbatch;
  bool reduces = false, arrives = false;
  for (const StageTime& s : stages) {
    times.forward.push_back(action_time(s.forward));
    times.backward.push_back(action_time(s.backward));
    times.reduce.push_back({s.reduce_last, s.reduce_others});
    times.arrive.push_back(s.gather_overlapped ? LayerTraffic{s.gather_last, s.gather_others}
                                               : LayerTraffic{});
    reduces = reduces || s.reduce_last + s.reduce_others > Duration{};
    arrives = arrives || (s.gather_overlapped && s.gather_last > Duration{});
    if (s.reduce_last > Duration{}) times.reduce_overlapped = s.reduce_overlapped;
  }
  if (!reduces) times.reduce.clear(), times.reduce_every = false;
  if (!arrives) times.arrive.clear();
  return times;
}

PipelineEstimate pipeline(const Workload& w, const PipelineTimes& times) {
  ScheduleShape shape;
  shape.devices = w.scenario.plan.mesh.pp;
  shape.stages = static_cast<int>(w.table.size());
  shape.microbatches = microbatches(w.scenario.plan);
  for (const Choice& c : w.scenario.plan.choices)
    if (const Method& m = method(c.method); m.closed_form) return m.closed_form(shape, times);
  throw Error(Error::Kind::Unsupported,
              "the plan's schedule has no closed form; simulate it instead", {"plan#/schedule"});
}

// When each device has updated and sent out the weights of all its stages.
Duration step_end(const std::vector<StageTime>& stages, const PipelineEstimate& middle,
                  std::size_t devices) {
  std::vector<Duration> free(devices);
  for (std::size_t s = 0; s < stages.size(); ++s)
    free[s % devices] = std::max(free[s % devices], middle.ends[s]);
  std::vector<Duration> sent(devices);
  Duration step{};
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Duration& device = free[s % devices];
    device = std::max(device, middle.reduced[s]) + stages[s].update;
    Duration end = device;
    if (!stages[s].gather_overlapped) {
      Duration& wire = sent[s % devices];
      end = wire = std::max(wire, device) + stages[s].gather_last + stages[s].gather_others;
    }
    step = std::max(step, end);
  }
  return step;
}

Duration device_compute(const std::vector<StageTime>& stages, std::size_t device,
                        std::size_t devices, std::int64_t m) {
  Duration sum{};
  for (std::size_t s = device; s < stages.size(); s += devices)
    sum += (stages[s].forward.compute + stages[s].backward.compute) * m + stages[s].update;
  return sum;
}

// Of the longest-computing device: what is counted goes in by name, transfers next, and the rest is
// bubble.
Breakdown break_down(const std::vector<StageTime>& stages, std::size_t device, std::size_t devices,
                     std::int64_t m, const PipelineTimes& times, Duration pipeline_span,
                     Duration step) {
  Breakdown b;
  Duration beside{};
  for (std::size_t s = device; s < stages.size(); s += devices) {
    const PhaseTime &f = stages[s].forward, &k = stages[s].backward;
    b.forward += f.compute * m;
    b.recompute += k.recompute * m;
    b.backward += (k.compute - k.recompute) * m;
    b.tensor_parallel += (f.tensor + k.tensor) * m;
    b.context_parallel += (f.context + k.context) * m;
    b.expert_parallel += (f.expert + k.expert) * m;
    b.data_parallel += (f.data + k.data + f.lead + k.lead) * m;
    for (const PhaseTime* p : {&f, &k})
      beside += std::max(Duration{}, p->beside - p->compute - p->blocking()) * m;
    b.optimizer += stages[s].update;
  }
  b.data_parallel += beside;
  const auto take = [&](Duration& part, Duration wanted) {
    part += std::clamp(wanted, Duration{}, std::max(Duration{}, step - b.sum()));
  };
  take(b.data_parallel, step - pipeline_span - b.optimizer);
  take(b.pipeline, times.transfer * static_cast<std::int64_t>(2 * (stages.size() - 1)));
  b.bubble = step - b.sum();
  return b;
}

std::vector<CategoryBytes> peaks(const Workload& w, const std::vector<int>& live) {
  const auto devices = static_cast<std::size_t>(w.scenario.plan.mesh.pp);
  std::vector<CategoryBytes> memory(devices);
  std::vector<Bytes> transient(devices);
  for (std::size_t s = 0; s < w.table.size(); ++s) {
    CategoryBytes& device = memory[s % devices];
    const auto at = [&](Category c) -> Bytes& { return device[static_cast<std::size_t>(c)]; };
    const StageId stage{static_cast<std::uint32_t>(s)};
    const StateBytes state = stage_state(w, stage).total;
    const PhaseBytes bytes = phase_bytes(w, stage);
    at(Category::Framework) = w.scenario.cluster.device.context.value;
    at(Category::Weights) += state.weights;
    at(Category::OptimizerState) += state.optimizer;
    at(Category::Gradients) += state.gradients;
    at(Category::Activations) += (bytes.until_input + bytes.until_weight) * live[s];
    // One action runs at a time: the fullest one's transients stand at the peak.
    const Bytes forward = bytes.gathered + bytes.forward_workspace;
    const Bytes backward =
        bytes.backward_communication + bytes.recomputed + bytes.backward_workspace;
    if (std::max(forward, backward) <= transient[s % devices]) continue;
    transient[s % devices] = std::max(forward, backward);
    at(Category::Communication) =
        backward >= forward ? bytes.backward_communication : bytes.gathered;
    at(Category::Recomputed) = backward >= forward ? bytes.recomputed : Bytes{};
    at(Category::Workspace) =
        backward >= forward ? bytes.backward_workspace : bytes.forward_workspace;
  }
  return memory;
}

}  // namespace

StepEstimate estimate_step(const Workload& w, const CostModel& cost) {
  const std::vector<StageTime> stages = stage_times(w, cost);
  const PipelineTimes times = pipeline_times(w, stages, transfer_time(w, cost));
  const PipelineEstimate middle = pipeline(w, times);
  const auto devices = static_cast<std::size_t>(w.scenario.plan.mesh.pp);
  const std::int64_t m = microbatches(w.scenario.plan);

  StepEstimate found;
  found.step = step_end(stages, middle, devices);
  std::size_t critical = 0;
  for (std::size_t d = 1; d < devices; ++d)
    if (device_compute(stages, d, devices, m) > device_compute(stages, critical, devices, m))
      critical = d;
  found.critical_device = DeviceId{static_cast<std::uint32_t>(critical)};
  for (std::size_t d = 0; d < devices; ++d) {
    const Breakdown b = break_down(stages, d, devices, m, times, middle.span, found.step);
    if (d == critical) found.breakdown = b;
    found.bubble_fraction += to_seconds(b.bubble);
    found.exposed_communication_fraction += to_seconds(b.exposed_communication());
  }
  const double all = to_seconds(found.step) * static_cast<double>(devices);
  if (all > 0) found.bubble_fraction /= all, found.exposed_communication_fraction /= all;
  for (const StageTime& s : stages) {
    found.model_flops += s.forward.model_flops + s.backward.model_flops;
    found.hardware_flops += s.forward.flops + s.backward.flops;
  }
  const double everywhere = static_cast<double>(m) * static_cast<double>(w.scenario.cluster.count) /
                            static_cast<double>(devices);
  found.model_flops = found.model_flops * everywhere;
  found.hardware_flops = found.hardware_flops * everywhere;
  found.memory = peaks(w, middle.live);
  return found;
}

}  // namespace trainyard
