// Notes what an update does to a part of a parameter, before and after it.
#pragma once

#include <utility>
#include <vector>

#include "backends/cpu/execution/cpu_execution.h"
#include "core/training/optimizers/formatted_rule.h"

namespace trainyard {

// Applies the update, and where it is looked at notes for rules and for a record of numbers its
// gradient, times the scale, the weights and how they move. Master weights are the weights where
// there are any.
template <class F>
void CpuExecution::seen_by_rules(ParameterPart& part, double scale, std::size_t norm,
                                 std::size_t at, int peer, F&& apply) {
  if (sight_ == nullptr || !is_seen_on(norm, at, peer)) return apply();
  const auto weights = [&](std::vector<float>& copy) {
    return weight_update_ == WeightUpdate::Master
               ? main_weights_of(formats(), part, copy)
               : as_floats(part.weights, part.weight_type, part.elements, copy);
  };
  std::size_t layer = 0;
  while (layer + 1 < norms_at_[at].size() && norms_at_[at][layer + 1] <= norm) ++layer;
  const auto index = static_cast<std::uint32_t>(norm - norms_at_[at][layer]);
  const RuleReads reads = sight_->reads;
  SeenByRules& seen = seen_on(plan_.places[at].device, peer);
  const auto note = [&](TensorRole role, const TensorFacts& facts) {
    if (facts.elements == 0) return;
    const std::scoped_lock hold(*seen.lock);
    seen.tensors[{role, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(layer),
                  index}] += facts;
  };
  NumberSight* const numbers = sight_->numbers.get();
  std::vector<float> copy, before, asked;
  if (numbers != nullptr) {
    const std::span<const float> gradients =
        as_floats(part.gradients, part.gradient_type, part.elements, asked);
    if (gradients.data() != asked.data()) asked.assign(gradients.begin(), gradients.end());
    numbers->see(NumberClass::Gradients, asked, scale);
  }
  if (has(reads, RuleReads::Gradients))
    note(TensorRole::Gradient,
         facts_of(as_floats(part.gradients, part.gradient_type, part.elements, copy), scale,
                  FactKinds::Sizes));
  const bool updates = has(reads, RuleReads::Updates);
  if (updates || numbers != nullptr) {
    {
      const std::scoped_lock hold(*seen.lock);
      before.swap(seen.before);
    }
    const std::span<const float> held = weights(before);
    if (held.data() != before.data()) before.assign(held.begin(), held.end());
  }
  if (numbers != nullptr) numbers->see(NumberClass::Weights, before);
  apply();
  const std::span<const float> after = weights(copy);
  if (has(reads, RuleReads::Weights))
    note(TensorRole::Weight,
         facts_of(after, 1, has(reads, RuleReads::Moments) ? FactKinds::All : FactKinds::Sizes));
  if (!updates && numbers == nullptr) return;
  // Neither of these loses what it rounds off: one keeps it on average, and one beside the weight.
  const bool keeps =
      weight_update_ == WeightUpdate::Stochastic || weight_update_ == WeightUpdate::Kahan;
  if (numbers != nullptr && asked.size() == before.size()) {
    CancelledCount found = count_cancelled(before, after, asked);
    if (keeps) found.cancelled = 0;
    numbers->see_update(found);
  }
  if (updates) {
    TensorFacts moved = update_facts(before, after);
    if (keeps) moved.zeros = 0;
    note(TensorRole::Update, moved);
  }
  const std::scoped_lock hold(*seen.lock);
  before.swap(seen.before);
}

}  // namespace trainyard
