#include "core/estimate/estimate.h"

#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/cluster/mixed.h"
#include "core/memory/process_bytes.h"
#include "core/methods/catalogue.h"
#include "core/result/verdict.h"

namespace trainyard {
namespace {

std::string category_name(std::size_t category) {
  std::string name(to_string(static_cast<Category>(category)));
  std::replace(name.begin(), name.end(), '_', ' ');
  if (static_cast<Category>(category) == Category::Framework) name += " overhead";
  return name;
}

std::string largest_part(const CategoryBytes& bytes) {
  std::size_t most = 0;
  for (std::size_t c = 1; c < bytes.size(); ++c)
    if (bytes[c] > bytes[most]) most = c;
  return category_name(most);
}

Verdict judge_peaks(const Workload& w, const std::vector<CategoryBytes>& memory,
                    const std::vector<Bytes>& reserved) {
  const std::size_t worst = least_room(w, reserved);
  const Bytes capacity = capacities(w)[worst];
  const Bytes peak = total(memory[worst]);
  Verdict verdict;
  verdict.margin = capacity - reserved[worst];
  verdict.fits = verdict.margin.value >= 0;
  verdict.worst_device = DeviceId{static_cast<std::uint32_t>(worst)};
  verdict.worst_stage = StageId{static_cast<std::uint32_t>(worst)};
  verdict.phase = "its fullest moment";
  verdict.word = verdict.fits ? FitWord::Fits : FitWord::DoesNotFit;
  verdict.where =
      fmt::format("on stage {} (device {}), by closed form: {} of {}, most of it {}.", worst, worst,
                  held_of(peak, reserved[worst]), readable(capacity), largest_part(memory[worst]));
  verdict.sentence = headline(verdict, {reserved[worst], reserved[worst], reserved[worst], ""}) +
                     " " + verdict.where;
  for (std::size_t c = 0; c < memory[worst].size(); ++c)
    if (memory[worst][c].value > 0)
      verdict.peak_parts.push_back({category_name(c), static_cast<Category>(c), memory[worst][c]});
  std::stable_sort(verdict.peak_parts.begin(), verdict.peak_parts.end(),
                   [](const PeakPart& a, const PeakPart& b) { return a.bytes > b.bytes; });
  return verdict;
}

// Returns the number of devices that do the same as one pipeline rank.
double replicas(const Workload& w) {
  return static_cast<double>(w.scenario.cluster.count) /
         static_cast<double>(w.scenario.plan.mesh.pp);
}

}  // namespace

Result estimate(const Workload& w, const CostModel& cost) {
  const bool mixed = is_mixed(w.scenario.cluster);
  std::vector<PoweredUse> uses;
  const StepEstimate step = estimate_step(w, cost, mixed ? &uses : nullptr);
  Result result;
  result.fidelity = "estimate";
  result.step.value = step.step;
  result.input = input_cost(w.scenario, step.step - step.breakdown.input);
  result.model_flops = step.model_flops;
  result.hardware_flops = step.hardware_flops;
  if (!mixed) uses = {{device_time(step.device_time) * replicas(w), step.hardware_flops}};
  state_common(result, w, cost, uses);
  if (w.scenario.plan.mesh.pp > 1)
    result.leaves_out.emplace_back(
        "messages between stages, and traffic of a device's two waves or copies of stages, that "
        "share a link with weights and gradients: of 2,000 random plans 17 took 5 to 14 % longer "
        "simulated");
  if (std::any_of(w.bodies.begin(), w.bodies.end(), [](const Body& b) { return b.tensor_heads; }))
    result.leaves_out.emplace_back(
        "sums of gradients over tensor ranks that exchange heads: they share links with what these "
        "ranks exchange meanwhile");
  // Staleness is read off a program, and only where steps are not all alike.
  if (schedule_of(w.scenario.plan).settles)
    result.asynchrony = asynchrony(lower(w, {.verify = false}), w.scenario.plan);
  result.bubble_fraction = step.bubble_fraction;
  result.exposed_communication_fraction = step.exposed_communication_fraction;
  result.breakdown = step.breakdown;
  result.device_time = step.device_time;
  result.critical_device = step.critical_device;
  for (std::uint32_t d = 0; d < step.memory.size(); ++d) {
    const Bytes peak = total(step.memory[d]);
    result.memory.push_back({StageId{d},
                             DeviceId{d},
                             {peak, peak, peak, "closed form"},
                             {},
                             step.memory[d],
                             step.reserved[d]});
  }
  result.verdict = judge_peaks(w, step.memory, step.reserved);
  state_capacities(w, result);
  return result;
}

}  // namespace trainyard
