// Implements the updates of asynchronous schedules: each stage has its own rule, derived from the
// delays in the program.
#include <algorithm>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"
#include "core/methods/catalogue.h"
#include "core/program/facts.h"
#include "core/training/delayed_update.h"

namespace trainyard {

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
  if (schedule.name == "tick-tock" && choice->params.text("sync") == "local")
    average_every_ = choice->params.integer("period");
}

// Local SGD (Stich, ICLR 2019): a wave that begins a period takes the mean of all waves' weights.
void CpuExecution::average_waves(const At& a) {
  StageState& stage = a.device.stage(a.place);
  const int cycle = a.instruction.weights;
  const auto own = static_cast<std::size_t>(a.instruction.wave);
  if (average_every_ == 0 || cycle == 0 || cycle % average_every_ != 0) return;
  const std::int64_t mark = std::int64_t{repetition_} * plan_.program.steps + cycle;
  if (own >= stage.weights.size() || stage.averaged.size() <= own || stage.averaged[own] == mark)
    return;
  stage.averaged[own] = mark;
  const std::int64_t elements = plan_.places[a.place].weights;
  std::vector<float> mean(static_cast<std::size_t>(elements), 0.0f);
  for (const Allocation& set : stage.weights) {
    const auto* w = reinterpret_cast<const float*>(set.data);
    for (std::int64_t i = 0; i < elements; ++i) mean[static_cast<std::size_t>(i)] += w[i];
  }
  auto* const into = reinterpret_cast<float*>(stage.weights[own].data);
  const auto waves = static_cast<float>(stage.weights.size());
  for (std::int64_t i = 0; i < elements; ++i) into[i] = mean[static_cast<std::size_t>(i)] / waves;
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
