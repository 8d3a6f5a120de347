// Implements the updates of asynchronous schedules: each stage has its own rule, derived from the
// delays in the program.
#include <algorithm>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"
#include "core/methods/catalogue.h"
#include "core/program/facts.h"
#include "core/training/optimizers/delayed_update.h"

namespace trainyard {
namespace {

// Replaces the numbers with which one set begins by the mean over all sets, a stretch at a time.
void take_mean(const std::vector<Allocation>& sets, std::size_t own, DType type,
               std::int64_t elements) {
  constexpr std::int64_t kStretch = 4096;
  const auto each = static_cast<std::size_t>(bytes_of(type));
  std::vector<float> one(kStretch);
  std::vector<double> sum(kStretch);
  for (std::int64_t first = 0; first < elements; first += kStretch) {
    const std::int64_t count = std::min(kStretch, elements - first);
    const std::size_t at = static_cast<std::size_t>(first) * each;
    std::fill(sum.begin(), sum.end(), 0.0);
    for (const Allocation& set : sets) {
      to_floats(set.data + at, type, one.data(), count);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        sum[i] += static_cast<double>(one[i]);
    }
    for (std::size_t i = 0; i < one.size(); ++i)
      one[i] = static_cast<float>(sum[i] / static_cast<double>(sets.size()));
    from_floats(one.data(), sets[own].data + at, type, count);
  }
}

}  // namespace

void CpuExecution::find_rules() {
  if (!plan_.asynchronous) return;
  const Method& schedule = schedule_of(plan_.workload.scenario.plan);
  const Choice* choice = find_choice(plan_.workload.scenario.plan, schedule.name);
  const std::vector<StageFacts> all = facts(plan_.program);
  const bool momentum = plan_.workload.scenario.plan.optimizer == "momentum";
  for (const StagePlacement& place : plan_.places)
    for (const StageFacts& f : all)
      if (f.stage == place.stage && f.device == place.device) {
        rules_.push_back(update_rule_of(schedule.name, choice->params, f, training_.rate,
                                        momentum ? training_.momentum : 0));
        break;
      }
  average_ = wave_average(plan_.workload.scenario.plan);
}

// The master copies are what is averaged, where there are such. What the optimizer remembers stays
// each wave's own.
void CpuExecution::average_waves(const At& a) {
  StageState& stage = a.device.stage(a.place);
  if (!average_.follows(a.instruction.weights) || stage.weights.size() < 2) return;
  const bool master = weight_update_ == WeightUpdate::Master;
  const auto own = static_cast<std::size_t>(a.instruction.wave);
  const std::int64_t elements = plan_.places[a.place].weights;
  const DType type = plan_.workload.layout.precision.parameter;
  const std::vector<Allocation>& sets = master ? stage.optimizer : stage.weights;
  take_mean(sets, own, master ? DType::F32 : type, elements);
  if (master)
    from_floats(reinterpret_cast<const float*>(sets[own].data), stage.weights[own].data, type,
                elements);
}

// The weights that the rule derives lie after the master copy, and as the optimizer counts them.
float* CpuExecution::derived(const StageState& stage, std::size_t at, std::size_t set) const {
  if (!derives(at)) return nullptr;
  auto* const state =
      reinterpret_cast<float*>(stage.optimizer[std::min(set, stage.optimizer.size() - 1)].data);
  if (state == nullptr) return nullptr;
  return state + (weight_update_ == WeightUpdate::Master ? plan_.places[at].optimizer : 0);
}

// Returns the derived weights if the instruction reads them: forwards, and backwards that read the
// same version, read predicted ones; backwards whose forward read another version read rewound
// ones. Older versions are kept as they were read.
const float* CpuExecution::derived_read(const At& a, const StageState& stage) const {
  const float* const weights = derived(stage, a.place, 0);
  if (weights == nullptr || a.instruction.weights != stage.version) return nullptr;
  const bool late = a.task.phase != Phase::Forward &&
                    a.device.flight(a.place, a.microbatch).version != a.instruction.weights;
  return late == rules_[a.place].correct_discrepancy ? weights : nullptr;
}

// Finds the place for a version that is still to be read when the next one comes.
StageState::Older* CpuExecution::room_for_older(StageState& stage) const {
  // A wave with its own weights reads the newest.
  const bool own = stage.weights.size() > 1;
  if (!plan_.asynchronous || own || !stage.is_read(stage.version)) return nullptr;
  const auto room =
      std::find_if(stage.older.begin(), stage.older.end(),
                   [&](const StageState::Older& older) { return !stage.is_read(older.version); });
  // Without a stash, later reads get the newest version (see weights_read()).
  return room == stage.older.end() ? nullptr : &*room;
}

// Saves the newest version before it changes. It stays where it is, and the update writes the next
// one beside it; only the weights that a prediction has given to readers are copied. Returns where
// the update writes, null for in place.
std::byte* CpuExecution::keep_older(const At& a, StageState::Older& room) const {
  const StageState& stage = a.device.stage(a.place);
  room.version = stage.version;
  const float* const read = derived(stage, a.place, 0);
  if (read == nullptr) return room.weights.data;
  from_floats(read, room.weights.data, plan_.workload.layout.precision.parameter,
              plan_.places[a.place].weights);
  return nullptr;
}

}  // namespace trainyard
