// Implements the updates of asynchronous schedules: each stage has its own rule, derived from the
// delays in the program.
#include "backends/cpu/execution/updated_parts.h"
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
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (int peer = 0; peer < peers(); ++peer) {
      DeviceState& device = state(plan_.places[at].device, peer);
      // The stored previous weights equal the current ones, since nothing has moved yet.
      if (rules_[at].prediction == Prediction::Weight)
        each_delayed_part(device, at, 0, [](const DelayedPart& part, std::int64_t) {
          std::copy_n(part.weights, part.elements, part.before);
        });
      look_ahead(device, at);
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

// Enumerates the optimizer's parts with the state that the rule needs: velocity, then T2's mean
// motion or the weights before the last update.
template <class F>
void CpuExecution::each_delayed_part(DeviceState& device, std::size_t at, std::size_t set, F&& f) {
  const UpdateRule& rule = rules_[at];
  StageState& stage = device.stage(at);
  auto* const extra =
      reinterpret_cast<float*>(stage.optimizer[std::min(set, stage.optimizer.size() - 1)].data);
  const std::int64_t elements = plan_.places[at].optimizer;
  const std::size_t slots = rule_->slots().size();
  auto* const weights = reinterpret_cast<float*>(stage.weights[0].data);
  each_part(device, at, set, [&](const ParameterPart& part, std::size_t) {
    const std::int64_t first = static_cast<float*>(part.weights) - weights;
    DelayedPart delayed{part.elements, static_cast<float*>(part.weights), part.gradients,
                        part.gradient_type};
    if (rule.momentum > 0) delayed.velocity = static_cast<float*>(part.state[0]);
    float* const more =
        extra == nullptr ? nullptr : extra + static_cast<std::int64_t>(slots) * elements + first;
    if (rule.correct_discrepancy) delayed.motion = more;
    if (rule.prediction == Prediction::Weight) delayed.before = more;
    f(delayed, first);
  });
}

void CpuExecution::update_delayed(const At& a, std::size_t set, const StepFacts& facts) {
  UpdateRule rule = rules_[a.place];
  rule.rate = facts.rate;
  each_delayed_part(a.device, a.place, set, [&](const DelayedPart& part, std::int64_t) {
    delayed_update(rule, part, facts.t, facts.gradient_scale);
  });
}

// Computes what the rule derives from the newest weights, for the passes that will read them.
void CpuExecution::look_ahead(DeviceState& device, std::size_t at) {
  const UpdateRule& rule = rules_[at];
  StageState& stage = device.stage(at);
  const auto elements = static_cast<std::size_t>(plan_.places[at].weights);
  const bool predicts = rule.prediction != Prediction::None;
  if (predicts) stage.ahead.resize(elements);
  if (rule.correct_discrepancy) stage.rewound.resize(elements);
  if (!predicts && !rule.correct_discrepancy) return;
  each_delayed_part(device, at, 0, [&](const DelayedPart& part, std::int64_t first) {
    if (predicts) forward_weights(rule, part, stage.updates, stage.ahead.data() + first);
    if (rule.correct_discrepancy) backward_weights(rule, part, stage.rewound.data() + first);
  });
}

}  // namespace trainyard
