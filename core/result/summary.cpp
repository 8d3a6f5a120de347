#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/digest.h"
#include "core/cluster/mixed.h"
#include "core/lowering/host_memory.h"
#include "core/memory/process_bytes.h"
#include "core/methods/parallel/operator_stages.h"
#include "core/methods/parallel/waiting_devices.h"
#include "core/methods/settings/settings.h"
#include "core/model/open_sizes.h"
#include "core/model/packed_samples.h"
#include "core/model/patch_grid.h"
#include "core/model/trained_parts.h"
#include "core/result/scenario_text.h"
#include "core/result/verdict.h"
#include "core/rules/catalogue.h"
#include "core/rules/fired_places.h"

namespace trainyard {
namespace {

Duration scaled(Duration d, double factor) { return seconds(to_seconds(d) * factor); }

// Returns the possible error of each kind of byte count, as a share of it. For modelled and guessed
// counts it is the error of predicting published peaks: fragmentation and framework terms differ
// between frameworks and do not transfer.
double uncertainty(Provenance provenance) {
  switch (provenance) {
    case Provenance::Exact:
      return 0.0;
    case Provenance::Measured:
      return 0.01;
    case Provenance::Modelled:
      return 0.1;
    case Provenance::Guessed:
      return 0.5;
  }
  return 0.0;
}

Banded<Bytes> banded_peak(const Timeline& timeline, const Program& program, DeviceId device,
                          Instant at, Bytes peak) {
  double unsure = 0;
  for (const Alive& alive : alive_at(timeline, program, device, at))
    unsure += uncertainty(program.buffers[alive.buffer.value].provenance) *
              static_cast<double>(alive.bytes.value);
  const Bytes width{static_cast<std::int64_t>(std::llround(unsure))};
  return {peak, peak - width, peak + width,
          "tensors and states counted exactly; 10 % of what is modelled, 50 % of what is guessed"};
}

std::vector<StageMemory> stage_memory(const Program& program, const Timeline& timeline,
                                      const std::vector<MemoryWave>& waves,
                                      const std::vector<ProcessMemory>& process) {
  std::vector<StageMemory> memory;
  for (std::uint32_t d = 0; d < waves.size(); ++d) {
    if (waves[d].samples.empty()) continue;
    const MemoryWave::Sample& highest = waves[d].samples[waves[d].peak];
    const Bytes peak = total(highest.bytes);
    memory.push_back({StageId{d}, DeviceId{d},
                      banded_peak(timeline, program, DeviceId{d}, highest.at, peak), highest.at,
                      highest.bytes, reserved_bytes(highest.bytes, process[d])});
  }
  return memory;
}

// In an op-grain program every tensor is an allocation of its own, so the allocator can be
// replayed. Its result is used where it is more than the framework's usual fragmentation.
void replay_fullest(std::vector<StageMemory>& memory, const Program& program,
                    const Timeline& timeline, const std::vector<ProcessMemory>& processes) {
  if (memory.empty()) return;
  StageMemory& fullest = *std::max_element(
      memory.begin(), memory.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.peak.value < b.peak.value; });
  const ProcessMemory& process = processes[fullest.device.value];
  if (process.context.value == 0) return;
  fullest.replay = replay_allocator(program, timeline, fullest.device);
  if (process.fragmentation > 1)
    fullest.reserved = std::max(fullest.reserved, fullest.categories[0] + fullest.replay->reserved);
}

double slowdown(const std::vector<StageMemory>& memory, const Workload& workload,
                const std::vector<ProcessMemory>& process) {
  const std::vector<Bytes> capacity = capacities(workload);
  double slowest = 1;
  for (const StageMemory& m : memory)
    slowest = std::max(
        slowest, memory_slowdown(m.reserved, capacity[m.device.value], process[m.device.value]));
  return slowest;
}

struct StepFlops {
  Flops model{}, hardware{};
};

StepFlops step_flops(const Program& program, const TaskPrices& prices) {
  std::vector<double> times(program.tasks.size(), 0.0);  // how often each task runs on one pipeline
                                                         // rank
  for (const Instruction& instruction : program.instructions) times[instruction.task.value] += 1.0;
  StepFlops sum;
  for (std::size_t t = 0; t < times.size(); ++t) {
    sum.model += prices.model_flops[t] * times[t];
    sum.hardware += prices.flops[t] * times[t];
  }
  const double replicas = static_cast<double>(program.replicas) / program.steps;
  return {sum.model * replicas, sum.hardware * replicas};
}

void state_who(Result& result, const Workload& workload) {
  const Scenario& scenario = workload.scenario;
  result.digest = digest(scenario_text(scenario));
  result.model_name = scenario.model.name;
  result.parameters = parameters(scenario.model);
  result.active_parameters = active_parameters(scenario.model);
  if (any_frozen(scenario.model)) result.trained_parameters = trained_parameters(scenario.model);
  result.cluster_name = scenario.cluster.name;
  result.device_name = scenario.cluster.device.name;
  for (const DeviceKind& kind : scenario.cluster.mixed)
    result.device_name += " and " + kind.device.name;
  result.devices = scenario.cluster.count;
  result.devices_per_node = devices_per_node(scenario.cluster);
  result.plan = scenario.plan;
  result.samples_per_step = static_cast<double>(scenario.plan.batch.global);
  result.counts_tokens = scenario.model.tokens;
  result.tokens_per_step = result.counts_tokens
                               ? result.samples_per_step * tokens_of_sample(workload.layout.binding)
                               : 0.0;
  if (const PackedSamples* const documents = workload.layout.binding.documents.get())
    result.documents = {documents->documents_a_sample(), documents->efficiency(),
                        documents->mean_width(), documents->sequence};
  result.capacity = scenario.cluster.device.memory.value;
  result.site = scenario.cluster.site;
}

// The peak of one device, in the mean over all of them.
FlopsPerSecond mean_peak(const Cluster& cluster, DType type) {
  if (!is_mixed(cluster)) return peak(cluster.device, type);
  double sum = 0;
  for (std::size_t kind = 0; kind < kinds(cluster); ++kind)
    sum += peak(device_of_kind(cluster, kind), type).value *
           static_cast<double>(count_of_kind(cluster, kind));
  return {sum / static_cast<double>(cluster.count)};
}

void state_utilisation(Result& result, const Workload& workload) {
  const Cluster& cluster = workload.scenario.cluster;
  result.peak_flops = mean_peak(cluster, workload.layout.precision.math) *
                      static_cast<double>(cores_of_device(workload.scenario.plan));
  const double possible =
      to_seconds(result.step.value) * static_cast<double>(result.devices) * result.peak_flops.value;
  if (possible <= 0) return;
  result.mfu = result.model_flops.value / possible;
  result.hfu = result.hardware_flops.value / possible;
  if (result.hfu > 1.0)
    throw Error(
        Error::Kind::Internal,
        fmt::format("{} would do {:.1f} % of its dense peak in {}, more than there is: the cost "
                    "model is wrong here, and no utilisation is printed",
                    result.device_name, 100 * result.hfu,
                    to_string(workload.layout.precision.math)));
  // The formulas count weight gradients of all parameters, which nobody computes for frozen ones,
  // and each layer once for each token, of which a vision tower has others than its decoder.
  if (!result.counts_tokens || result.trained_parameters ||
      tokens_of_images(workload.scenario.model) > 0)
    return;
  const FlopsFacts facts = flops_facts(workload.scenario.model);
  if (!(facts.width > 0)) return;
  const double sequence = tokens_of_sample(workload.layout.binding);
  for (const FlopsDefinitionInfo& one : flops_definitions()) {
    const double share =
        flops_per_token(one.definition, facts, sequence) * result.tokens_per_step / possible;
    // A share above the peak counts FLOPs that nobody computes, so it is not printed.
    if (!one.hardware && share <= 1) result.stated_mfu.emplace_back(one.definition, share);
  }
}

// The low end of the range combines the lowest power with the shortest step, the high end the
// highest power with the longest.
void state_energy(Result& result, const Workload& workload, const std::vector<PoweredUse>& uses) {
  const Cluster& cluster = workload.scenario.cluster;
  const std::optional<std::vector<PowerDraw>> draws =
      power_of_kinds(cluster, uses, workload.layout.precision.math);
  if (!draws) return;
  result.power = mean_power(cluster, *draws, uses);
  if (!(result.step.value > Duration{})) return;
  const double value = to_seconds(result.step.value);
  DeviceTime all;
  for (const PoweredUse& use : uses) all += use.time;
  Banded<Joules> energy = energy_of(*result.power, all);
  energy.low.value *= to_seconds(result.step.low) / value;
  energy.high.value *= to_seconds(result.step.high) / value;
  result.energy = std::move(energy);
}

void state_cost(Result& result, const Cluster& cluster) {
  const Banded<Duration>& step = result.step;
  const auto devices = static_cast<double>(result.devices);
  const std::optional<double> least = mean_price(cluster, &Device::price_low),
                              most = mean_price(cluster, &Device::price_high);
  if (!least || !most) return;
  const double hours = devices / 3600.0, low = *least, high = *most;
  result.money =
      Banded<double>{hours * to_seconds(step.value) * 0.5 * (low + high),
                     hours * to_seconds(step.low) * low, hours * to_seconds(step.high) * high,
                     "between the low and the high price of an hour of this device"};
}

}  // namespace

void state_capacities(const Workload& workload, Result& result) {
  if (!is_mixed(workload.scenario.cluster)) return;
  const std::vector<Bytes> capacity = capacities(workload);
  for (StageMemory& memory : result.memory) memory.capacity = capacity[memory.device.value];
  result.capacity = capacity[result.verdict.worst_device.value];
}

void state_common(Result& result, const Workload& workload, const CostModel& cost,
                  const std::vector<PoweredUse>& uses) {
  state_who(result, workload);
  const double band = cost.band();
  result.step.low = scaled(result.step.value, 1.0 - band);
  result.step.high = scaled(result.step.value, 1.0 + band);
  result.step.basis = cost.band_basis();
  state_utilisation(result, workload);
  state_energy(result, workload, uses);
  state_cost(result, workload.scenario.cluster);
  result.leaves_out = cost.leaves_out();
  if (is_mixed(workload.scenario.cluster))
    result.leaves_out.emplace_back(
        "attention kernels that another kind of devices than the first would choose");
  const bool slow = has_slow_devices(workload.scenario.cluster.slowness);
  const Mesh& mesh = workload.scenario.plan.mesh;
  if (slow && mesh.pp > 1 && mesh.dp.value_or(1) > separate_pipelines(workload.scenario))
    result.leaves_out.emplace_back(
        "replicas whose slow devices lie in different stages: a stage waits for the slowest of all "
        "its devices, wherever its replica's other stages are slow");
  for (const char* sentence :
       {slow ? "failures and checkpoints, of which `trainyard goodput` tells, and evaluation"
             : "failures and checkpoints, of which `trainyard goodput` tells, stragglers and "
               "evaluation",
        result.input ? "host work between steps" : "input pipeline and host work between steps",
        "allocator fragmentation beyond the framework's share"})
    result.leaves_out.emplace_back(sentence);
  result.gradient_traffic = gradient_traffic(workload);
  result.host = host_memory(workload);
  if (result.host)
    result.leaves_out.emplace_back(
        "what devices that share a host take from each other's link, and the norm of gradients");
  if (workload.layout.nvme_optimizer)
    result.leaves_out.emplace_back(
        "what reads and writes of NVMe take from the host's memory, and from each other");
}

std::vector<PoweredUse> device_uses(const Workload& workload, const Program& program,
                                    const TaskPrices& prices, const std::vector<Breakdown>& parts) {
  const auto replicas = static_cast<double>(program.replicas);
  const Scenario& scenario = workload.scenario;
  if (!is_mixed(scenario.cluster))
    return {{device_time(total(parts)) * replicas, step_flops(program, prices).hardware}};
  std::vector<PoweredUse> ranks;
  for (const Breakdown& part : parts) ranks.push_back({device_time(part), {}});
  for (const Stream& stream : program.streams)
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
      ranks[stream.device.value].hardware +=
          prices.flops[program.instructions[i].task.value] * (1.0 / program.steps);
  return uses_of_kinds(scenario.cluster, scenario.plan.mesh, ranks, replicas);
}

TimelineFacts facts_for_rules(const Result& result, const Timeline& timeline,
                              const std::vector<MemoryWave>& waves,
                              const std::vector<Breakdown>& parts) {
  TimelineFacts facts = timeline_facts(timeline, waves, parts, result.capacity);
  if (!result.asynchrony) return facts;
  for (const StageFacts& stage : result.asynchrony->stages)
    facts.staleness =
        std::max(facts.staleness.value_or(0), static_cast<double>(stage.forward_delay));
  return facts;
}

Result summarize(const Workload& workload, Grain grain, const Program& program,
                 const TaskPrices& prices, const Timeline& timeline,
                 const std::vector<MemoryWave>& waves, const CostModel& cost) {
  Result result;
  result.fidelity = grain == Grain::Order ? "simulate: order grain" : "simulate: op grain";
  const std::vector<ProcessMemory> process = processes(workload, cost);
  result.memory = stage_memory(program, timeline, waves, process);
  if (grain == Grain::Op) replay_fullest(result.memory, program, timeline, process);
  result.step.value = step_window(timeline, program).length();
  const double slower = slowdown(result.memory, workload, process);
  const Duration lost = scaled(result.step.value, slower - 1);
  result.step.value += lost;
  result.input = input_cost(workload.scenario, result.step.value);
  const Duration waiting = result.input ? result.input->waiting : Duration{};
  result.step.value += waiting;
  const StepFlops flops = step_flops(program, prices);
  result.model_flops = flops.model;
  result.hardware_flops = flops.hardware;
  std::vector<Breakdown> parts = breakdowns(timeline, program, prices.recompute_share);
  for (Breakdown& part : parts) part.allocator = lost, part.input = waiting;
  for (std::size_t d = 0; d < prices.slower.size(); ++d) part_slower(parts[d], prices.slower[d]);
  result.device_time = total(parts);
  state_common(result, workload, cost, device_uses(workload, program, prices, parts));
  result.bubble_fraction = bubble_fraction(result.device_time);
  result.exposed_communication_fraction = exposed_communication_fraction(result.device_time);
  result.critical_device = critical_device(parts);
  result.breakdown = parts[result.critical_device.value];
  result.asynchrony = asynchrony(program, workload.scenario.plan);
  result.verdict =
      judge(workload, program, timeline, waves, result.device_time, result.capacity, result.memory);
  state_capacities(workload, result);
  if (const std::string sharing = sharing_sentence(program, prices); !sharing.empty())
    result.verdict.limit += "; " + sharing;
  static const RuleSet usual = usual_rules();
  result.rules = judge_timeline(usual, facts_for_rules(result, timeline, waves, parts));
  find_places(result.rules, program, timeline);
  return result;
}

double tokens_per_second(const Result& result) {
  const double s = to_seconds(result.step.value);
  return s > 0 ? result.tokens_per_step / s : 0.0;
}

double useful_tokens_per_second(const Result& result) {
  return tokens_per_second(result) * (result.documents ? result.documents->efficiency : 1.0);
}

Watts mean_draw(const Result& result) {
  const double seconds = to_seconds(result.step.value) * static_cast<double>(result.devices);
  return {result.energy && seconds > 0 ? result.energy->value.value / seconds : 0.0};
}

Bytes worst_peak(const Result& result) {
  Bytes most{};
  for (const StageMemory& stage : result.memory) most = std::max(most, stage.peak.value);
  return most;
}

}  // namespace trainyard
