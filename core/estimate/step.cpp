// This file computes one step from stage times: weights that arrive at its beginning, the
// schedule's closed form in the middle, gradients and the update at its end.
#include <array>
#include <numeric>
#include <utility>

#include "core/cluster/mixed.h"
#include "core/cost/overlap.h"
#include "core/estimate/estimate.h"
#include "core/estimate/layer_waits.h"
#include "core/lowering/held_bytes.h"
#include "core/lowering/layer_copies.h"
#include "core/lowering/phases.h"
#include "core/lowering/stage_copies.h"
#include "core/memory/process_bytes.h"
#include "core/methods/catalogue.h"
#include "core/methods/orders/closed_form.h"
#include "core/methods/orders/recurrence.h"
#include "core/methods/parallel/waiting_devices.h"
#include "core/methods/schedules/wave_average.h"
#include "core/result/input_cost.h"

namespace trainyard {
namespace {

ActionTime action_time(const PhaseTime& p) {
  return {p.lead, p.compute, p.blocking(), p.gather, p.beside, p.blocking_shared, p.beside_shared};
}

PipelineTimes pipeline_times(const Workload& w, const std::vector<StageTime>& stages,
                             const std::vector<LayerWaits>& waits, Duration transfer,
                             double contention) {
  PipelineTimes times;
  times.transfer = transfer;
  times.contention = contention;
  times.reduce_every = w.layout.reduce_every_microbatch;
  times.blocking_sends = w.layout.blocking_sends;
  const Method& schedule = schedule_of(w.scenario.plan);
  const bool split = splits_backward(w);
  bool reduces = false, arrives = false;
  double fill = 0;
  times.averages_every = wave_average(w.scenario.plan).every;
  for (const StageTime& s : stages) {
    times.forward.push_back(action_time(s.forward));
    times.backward.push_back(action_time(s.backward));
    const LayerWaits& waited = waits[times.forward.size() - 1];
    times.forward.back().compute += waited.forward;
    times.backward.back().compute += waited.backward;
    if (split) {
      times.backward_input.push_back(action_time(s.backward_input));
      times.backward_weight.push_back(action_time(s.backward_weight));
    }
    if (schedule.settles) {
      times.update.push_back(s.update);
      times.averaging.push_back(s.averaging);
      times.publish.push_back(s.gather_overlapped ? Duration{} : s.gather_last + s.gather_others);
    }
    times.reduce.push_back({s.reduce_last, s.reduce_others});
    times.arrive.push_back(s.gather_overlapped ? LayerTraffic{s.gather_last, s.gather_others}
                                               : LayerTraffic{});
    reduces = reduces || s.reduce_last + s.reduce_others > Duration{};
    arrives = arrives || (s.gather_overlapped && s.gather_last > Duration{});
    if (s.reduce_last > Duration{}) times.reduce_overlapped = s.reduce_overlapped;
    if (w.layout.host_activations && w.layout.layers_in_flight == 0)
      times.host_copy.push_back(s.host.activations);
    fill += s.fill;
  }
  times.fill = std::clamp(fill / static_cast<double>(stages.size()), 1e-6, 1.0);
  if (!reduces) times.reduce.clear(), times.reduce_every = false;
  if (!arrives) times.arrive.clear();
  return times;
}

PipelineEstimate pipeline(const Workload& w, const PipelineTimes& times, const PhaseTimes& mean) {
  const Choice& choice = *chosen_on(w.scenario.plan, MethodAxis::Schedule);
  ScheduleShape shape = schedule_shape(w, mean);
  if (w.edited) return follow(*w.edited, shape, times);
  shape.steps = 1;
  return estimate_pipeline(method(choice.method), choice.params, shape, times);
}

// Returns the times for schedules whose order depends on them: means over the stages, as
// phase_times() does.
PhaseTimes mean_times(const Workload& w, const std::vector<StageTime>& stages, Duration transfer) {
  PhaseTimes mean{Duration{0}, Duration{0}, Duration{0}, transfer};
  const bool split = splits_backward(w);
  bool gathers = false;
  for (const StageTime& s : stages) {
    mean.forward += s.forward.total();
    mean.backward_input += split ? s.backward_input.total() : s.backward.total();
    mean.backward_weight += split ? s.backward_weight.total() : Duration{};
    const auto waits = [&](const PhaseTime& p) {
      gathers = gathers || p.lead + p.gather + p.data > Duration{};
      return p.tensor + p.expert;
    };
    mean.forward_waits += waits(s.forward);
    mean.backward_waits +=
        split ? waits(s.backward_input) + waits(s.backward_weight) : waits(s.backward);
  }
  if (gathers) mean.forward_waits = mean.backward_waits = {};
  return mean.over(static_cast<std::int64_t>(stages.size()));
}

// Returns when each stage's gradients are reduced and, where a stage has two copies, added up with
// those of the other copy, one stage after the other on each device's stream.
std::vector<Duration> joined(const std::vector<StageTime>& stages, const PipelineEstimate& middle,
                             const StageCopies& places, std::size_t devices) {
  std::vector<Duration> reduced = middle.reduced, wire(devices);
  if (!places.copied()) return reduced;
  for (std::size_t i = 0; i < places.size(); ++i)
    wire[places[i].device.value] =
        std::max(wire[places[i].device.value], middle.reduced[places[i].stage.value]);
  for (std::uint32_t s = 0; s < stages.size(); ++s) {
    Duration &one = wire[places.device(StageId{s}, 0).value],
             &other = wire[places.device(StageId{s}, 1).value];
    one = other = reduced[s] = std::max(one, other) + stages[s].copies;
  }
  return reduced;
}

// Returns the time of the action that completes the stage's gradients.
Duration last_backward(const StageTime& stage) {
  const PhaseTime& p =
      stage.backward_weight.compute > Duration{} ? stage.backward_weight : stage.backward;
  return std::max(p.compute, p.beside) + p.blocking();
}

// HostClock has one device's lanes with its host at the end of a step.
struct HostClock {
  Duration down{}, host{}, up{}, read{}, write{};
  std::array<Duration, kStateBuffers> buffers{};  // when each is free again
  std::size_t layers = 0;                         // updated so far, of those with state on NVMe

  // Returns when all gradients of a stage are on the host: those of the layer that is ready last
  // are sent once `reduced`, the others from `begins` on.
  Duration send(const HostTime& t, Duration begins, Duration reduced) {
    down = std::max(down, t.overlapped ? begins : reduced) + t.down_others;
    return down = std::max(down, reduced) + t.down_last;
  }
  // Returns when the stage's last weights are back on the device.
  Duration update(const HostTime& t, Duration sent, Duration computed) {
    if (!t.nvme.empty()) return update_layers(t, std::max(computed, sent));
    const Duration first = std::max({host, computed, sent}) + t.update_first;
    host = first + t.update_others;
    up = std::max(up, first) + t.up_others;
    return up = std::max(up, host) + t.up_last;
  }

 private:
  Duration update_layers(const HostTime& t, Duration ready) {
    for (const NvmeTime& one : t.nvme)
      for (int layer = 0; layer < one.layers; ++layer) {
        Duration& buffer = buffers[layers++ % kStateBuffers];
        read = std::max({read, ready, buffer}) + one.read;
        host = std::max(host, read) + one.update;
        write = std::max(write, host) + one.write;
        up = std::max(up, host) + one.up;
        buffer = std::max(write, up);
      }
    return up;
  }
};

// Computes when the host has each stage's gradients. Stages of a device send them in the order in
// which their backwards end.
std::vector<Duration> sent_to_host(const std::vector<StageTime>& stages,
                                   const PipelineEstimate& middle, const StageCopies& places,
                                   const std::vector<Duration>& reduced,
                                   std::vector<HostClock>& hosts) {
  std::vector<StageCopy> order(places.begin(), places.end());
  std::stable_sort(order.begin(), order.end(), [&](const StageCopy& a, const StageCopy& b) {
    return middle.ends[a.stage.value] < middle.ends[b.stage.value];
  });
  std::vector<Duration> sent(stages.size());
  for (const StageCopy& place : order) {
    const std::size_t s = place.stage.value;
    sent[s] = hosts[place.device.value].send(stages[s].host,
                                             middle.ends[s] - last_backward(stages[s]), reduced[s]);
  }
  return sent;
}

// Returns when all devices have updated their stages and sent out the new weights.
Duration step_end(const std::vector<StageTime>& stages, const PipelineEstimate& middle,
                  const StageCopies& places, std::size_t devices) {
  std::vector<Duration> free(devices);
  for (const StageCopy& place : places)
    free[place.device.value] = std::max(free[place.device.value], middle.ends[place.stage.value]);
  const std::vector<Duration> reduced = joined(stages, middle, places, devices);
  std::vector<Duration> sent(devices);
  std::vector<HostClock> hosts(devices);
  const bool hosted = std::any_of(stages.begin(), stages.end(), [](const StageTime& s) {
    return s.host.update_first > Duration{};
  });
  const std::vector<Duration> with_host =
      hosted ? sent_to_host(stages, middle, places, reduced, hosts) : std::vector<Duration>{};
  Duration step{};
  for (const StageCopy& place : places) {
    const StageTime& stage = stages[place.stage.value];
    Duration& device = free[place.device.value];
    Duration end{};
    if (stage.host.update_first > Duration{}) {
      device = std::max(device, reduced[place.stage.value]);
      end = hosts[place.device.value].update(stage.host, with_host[place.stage.value], device);
    } else {
      end = device = std::max(device, reduced[place.stage.value]) + stage.update;
    }
    if (!stage.gather_overlapped) {
      Duration& wire = sent[place.device.value];
      end = wire = std::max(wire, end) + stage.gather_last + stage.gather_others;
    }
    step = std::max({step, end, hosts[place.device.value].write});
  }
  return step;
}

// A DeviceShare is one device's part of a step; each of its stages processes `microbatches`
// microbatches.
struct DeviceShare {
  std::vector<const StageTime*> stages;
  std::int64_t microbatches = 0;
  PairedTime pairs;
  bool split = false;
  bool hosted = false;  // the host updates weights
  Duration waits{};     // for copies of one microbatch's activations
};

Flops flops_of(const DeviceShare& share) {
  Flops sum{};
  for (const StageTime* s : share.stages) sum += s->forward.flops + s->backward.flops;
  return sum * static_cast<double>(share.microbatches);
}

Duration device_compute(const DeviceShare& share) {
  Duration sum{};
  for (const StageTime* s : share.stages)
    sum += (s->forward.compute + s->backward.compute) * share.microbatches + s->update;
  return sum;
}

// Returns the time that computation loses because communication runs beside it.
Duration slowed(Duration compute, Duration traffic, double contention) {
  return share_of(std::min(compute, traffic), contention);
}

// WaitsBeside is how long one action waits for the communication that runs beside it. It waits for
// keys and values before its blocking collectives begin, and for weights after they have ended.
struct WaitsBeside {
  Duration keys{}, weights{};
};
WaitsBeside waits_beside(const PhaseTime& p, double contention) {
  const auto with_compute = [&](Duration traffic) {
    return traffic + slowed(p.compute, traffic, contention);
  };
  const Duration computed = p.compute + slowed(p.compute, std::max(p.gather, p.beside), contention);
  WaitsBeside waits;
  waits.keys = std::max(Duration{}, with_compute(p.beside) - computed);
  waits.weights =
      std::max(Duration{}, with_compute(p.gather) - computed - waits.keys - p.blocking());
  return waits;
}

// Communication inside layers that pairs hide is not waited for: each kind of it has its part.
void hide(Breakdown& b, Duration hidden) {
  const double all = to_seconds(b.tensor_parallel + b.expert_parallel);
  if (all <= 0) return;
  const double left = 1 - std::min(1.0, to_seconds(hidden) / all);
  b.tensor_parallel = share_of(b.tensor_parallel, left);
  b.expert_parallel = share_of(b.expert_parallel, left);
}

// Divides one device's step by cause: computation and collectives are counted by name, transfers
// come next, and the rest is bubble. As in a timeline, the time by which communication slows
// computation down counts as computation; communication is exposed only where the device waits for
// it.
Breakdown break_down(const DeviceShare& share, const PipelineTimes& times,
                     const PipelineEstimate& middle, Duration step, int forward_only) {
  Breakdown b, slower;
  Duration keys{}, weights{}, leads{};
  const std::int64_t m = share.microbatches;
  // Adds the slowdown beyond what `before` already causes, because simultaneous communication
  // counts once.
  const auto slow = [&](const PhaseTime& p, bool forward, Duration before, Duration traffic,
                        std::int64_t often) {
    if (p.compute == Duration{}) return;
    const Duration all = (slowed(p.compute, std::max(before, traffic), times.contention) -
                          slowed(p.compute, before, times.contention)) *
                         often;
    const Duration again = share_of(all, to_seconds(p.recompute) / to_seconds(p.compute));
    (forward ? slower.forward : slower.backward) += all - again;
    slower.recompute += again;
  };
  const auto add = [&](const PhaseTime& p, bool forward) {
    (forward ? b.forward : b.backward) += (p.compute - p.recompute) * m;
    b.recompute += p.recompute * m;
    slow(p, forward, {}, std::max(p.gather, p.beside), m);
    b.tensor_parallel += p.tensor * m;
    b.context_parallel += p.context * m;
    b.expert_parallel += p.expert * m;
    b.data_parallel += p.data * m;
    leads += p.lead * m;
    const WaitsBeside waits = waits_beside(p, times.contention);
    keys += waits.keys * m;
    weights += waits.weights * m;
  };
  Duration copied{}, reduced_between{};
  for (const StageTime* s : share.stages) {
    add(s->forward, true);
    if (share.split)
      add(s->backward_input, false), add(s->backward_weight, false);
    else
      add(s->backward, false);
    if (s->reduce_overlapped) {
      const PhaseTime& last = share.split ? s->backward_weight : s->backward;
      slow(last, false, std::max(last.gather, last.beside), s->reduce_others,
           times.reduce_every ? m : 1);
    }
    // The next action waits for gradients that are reduced after each microbatch.
    if (times.reduce_every && !s->reduce_overlapped)
      reduced_between += (s->reduce_last + s->reduce_others) * (m - 1);
    b.optimizer += times.averages_every == 1 ? s->averaging : s->update;
    copied += s->copies;
  }
  const auto take = [&](Duration& part, Duration wanted) {
    part += std::clamp(wanted, Duration{}, std::max(Duration{}, step - b.sum()));
  };
  hide(b, share.pairs.hidden);
  slower.forward += share.pairs.forward, slower.backward += share.pairs.backward;
  take(b.forward, slower.forward);
  take(b.backward, slower.backward);
  take(b.recompute, slower.recompute);
  take(b.host, share.waits * m);
  take(b.context_parallel, keys);
  take(b.data_parallel, weights);
  // Weights that arrive while the collectives of the previous action still run cost nothing.
  take(b.data_parallel, leads);
  take(b.data_parallel, reduced_between);
  if (share.hosted) {
    Duration reduced{};
    for (const Duration r : middle.reduced) reduced = std::max(reduced, r);
    take(b.host, step - std::max(middle.span, reduced));
  }
  if (middle.paced)
    take(b.data_parallel, copied);
  else
    take(b.data_parallel, step - middle.span - b.optimizer - b.host);
  if (!middle.paced)
    take(b.pipeline, times.transfer * (2 * (static_cast<std::int64_t>(times.forward.size()) - 1) -
                                       forward_only));
  b.bubble = step - b.sum();
  return b;
}

// Finds the peak of a device's memory: at each moment its stages hold their microbatches, and the
// running action holds its own buffers as well.
CategoryBytes fullest(const Workload& w, const StageCopies& places,
                      const std::vector<HeldMoment>& moments) {
  CategoryBytes found{};
  const bool split = splits_backward(w), by_layer = w.layout.layers_in_flight > 0;
  for (const HeldMoment& moment : moments) {
    CategoryBytes held{};
    const auto at = [&](Category c) -> Bytes& { return held[static_cast<std::size_t>(c)]; };
    const auto keep = [&](const KeptBytes& one, int count) {
      at(Category::Activations) += one.activations * count;
      at(Category::Recomputed) += one.recomputed * count;
    };
    for (const HeldCount& count : moment.counts) {
      const PhaseBytes& bytes = phase_bytes(w, places[count.copy].stage);
      keep(kept_live(bytes), count.live);
      keep(kept_for_weight(bytes), count.for_weight);
    }
    for (const HeldMoment::Running& running : moment.running) {
      const ActionBytes action =
          action_bytes(phase_bytes(w, places[running.copy].stage), running.phase, split);
      CategoryBytes all = held;
      const auto add = [&](Category c, Bytes bytes) { all[static_cast<std::size_t>(c)] += bytes; };
      add(Category::Activations, action.rise);
      if (by_layer) add(Category::Activations, most_in_motion(w, places[running.copy].stage));
      add(Category::Recomputed, action.recomputed);
      add(Category::Communication, action.communication);
      add(Category::Workspace, action.workspace);
      if (total(all) > total(found)) found = all;
    }
  }
  return found;
}

std::vector<CategoryBytes> peaks(const Workload& w, const StageCopies& places,
                                 const PipelineEstimate& middle,
                                 const std::vector<Bytes>& framework) {
  std::vector<CategoryBytes> memory;
  for (const std::vector<HeldMoment>& moments : middle.moments)
    memory.push_back(fullest(w, places, moments));
  for (std::size_t d = 0; d < memory.size(); ++d)
    memory[d][static_cast<std::size_t>(Category::Framework)] = framework[d];
  for (std::size_t i = 0; i < places.size(); ++i) {
    CategoryBytes& device = memory[places[i].device.value];
    const auto at = [&](Category c) -> Bytes& { return device[static_cast<std::size_t>(c)]; };
    const StateBytes& state = stage_state(w, places[i].stage).total;
    at(Category::Weights) += state.weights;
    if (!middle.older_versions.empty())
      at(Category::Weights) += state.weights * middle.older_versions[i];
    at(Category::OptimizerState) += state.optimizer;
    at(Category::Gradients) += state.gradients;
    at(Category::Communication) += state.gathered;
  }
  return memory;
}

}  // namespace

StepEstimate estimate_step(const Workload& w, const CostModel& cost) {
  return estimate_step(w, cost, nullptr);
}

StepEstimate estimate_step(const Workload& w, const CostModel& cost,
                           std::vector<PoweredUse>* uses_by_kind) {
  const std::vector<StageTime> stages = stage_times(w, cost);
  const std::vector<LayerWaits> waits = layer_waits(w, cost);
  const Duration transfer = transfer_time(w, cost);
  double contention = 0;
  for (std::size_t kind = 0; kind < kinds(w.scenario.cluster); ++kind)
    contention = std::max(contention, cost.contention(device_of_kind(w.scenario.cluster, kind)));
  const PipelineTimes times = pipeline_times(w, stages, waits, transfer, contention);
  const PipelineEstimate middle = pipeline(w, times, mean_times(w, stages, transfer));
  const auto devices = static_cast<std::size_t>(w.scenario.plan.mesh.pp);
  const std::int64_t m = microbatches(w.scenario.plan);
  const StageCopies places(w);
  std::vector<DeviceShare> shares(
      devices, {{}, m / copies(w.placement), {}, splits_backward(w), w.layout.host_optimizer});
  for (std::size_t d = 0; d < middle.pairs.size(); ++d) shares[d].pairs = middle.pairs[d];
  for (const StageCopy& place : places) {
    DeviceShare& share = shares[place.device.value];
    share.stages.push_back(&stages[place.stage.value]);
    share.waits += waits[place.stage.value].forward + waits[place.stage.value].backward;
  }

  StepEstimate found;
  found.step = middle.paced ? middle.span : step_end(stages, middle, places, devices);
  std::size_t critical = 0;
  for (std::size_t d = 1; d < devices; ++d)
    if (device_compute(shares[d]) > device_compute(shares[critical])) critical = d;
  found.critical_device = DeviceId{static_cast<std::uint32_t>(critical)};
  const int forward_only = forward_only_stages(w.scenario.model, w.table);
  const std::vector<double> slow_ranks = expected_slowness(w.scenario);
  std::vector<PoweredUse> uses;  // by pipeline rank
  for (std::size_t d = 0; d < devices; ++d) {
    Breakdown b = break_down(shares[d], times, middle, found.step, forward_only);
    if (!slow_ranks.empty()) part_slower(b, slow_ranks[d]);
    // A device without neighbours waits for weights and gradients only.
    if (devices == 1) b.data_parallel += std::exchange(b.bubble, Duration{});
    if (d == critical) found.breakdown = b;
    found.device_time = total({found.device_time, b});
    if (uses_by_kind != nullptr) uses.push_back({device_time(b), flops_of(shares[d])});
  }
  for (const StageTime& s : stages) {
    found.model_flops += s.forward.model_flops + s.backward.model_flops;
    found.hardware_flops += s.forward.flops + s.backward.flops;
  }
  const double everywhere = static_cast<double>(m) * static_cast<double>(w.scenario.cluster.count) /
                            static_cast<double>(devices);
  found.model_flops = found.model_flops * everywhere;
  found.hardware_flops = found.hardware_flops * everywhere;
  const std::vector<ProcessMemory> process = processes(w, cost);
  const std::vector<Bytes> framework = bytes_of_processes(w, process), capacity = capacities(w);
  found.memory = peaks(w, places, middle, framework);
  found.moments = middle.moments;
  double slower = 1;
  for (std::size_t d = 0; d < devices; ++d) {
    found.reserved.push_back(reserved_bytes(found.memory[d], process[d]));
    slower = std::max(slower, memory_slowdown(found.reserved[d], capacity[d], process[d]));
  }
  if (slower > 1) {
    found.breakdown.allocator = seconds(to_seconds(found.step) * (slower - 1));
    found.device_time.allocator = found.breakdown.allocator * static_cast<std::int64_t>(devices);
    found.step += found.breakdown.allocator;
  }
  const Duration input = std::max(Duration{}, input_time(w.scenario) - found.step);
  found.breakdown.input = input;
  found.device_time.input = input * static_cast<std::int64_t>(devices);
  found.step += input;
  if (uses_by_kind != nullptr) {
    for (PoweredUse& use : uses)
      use.time.idle += to_seconds(found.breakdown.allocator + found.breakdown.input);
    *uses_by_kind = uses_of_kinds(w.scenario.cluster, w.scenario.plan.mesh, uses,
                                  everywhere / static_cast<double>(m));
  }
  found.bubble_fraction = bubble_fraction(found.device_time);
  found.exposed_communication_fraction = exposed_communication_fraction(found.device_time);
  return found;
}

}  // namespace trainyard
