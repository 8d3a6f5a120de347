#include "core/training/optimizers/delayed_update.h"

#include <cmath>

namespace trainyard {

bool derives_weights(const UpdateRule& rule) {
  return rule.correct_discrepancy || rule.prediction != Prediction::None;
}

void correct(StepFacts& facts, const UpdateRule& rule) {
  UpdateRule at_this_rate = rule;
  at_this_rate.rate = facts.rate;
  facts.rate = at_this_rate.rate_of(facts.t);
  if (rule.compensate_spikes) facts.missed = rule.forward_delay;
  if (rule.correct_discrepancy) {
    // With d = w - apart m, the mean motion m <- kept m + (1 - kept) (w' - w) needs no place of its
    // own.
    const double apart = rule.forward_delay - rule.backward_delay;
    const double kept = apart > 0 ? std::pow(rule.decay, 1 / apart) : 0;
    facts.derived = {kept, apart * (1 - kept)};
  } else if (rule.prediction != Prediction::None) {
    const double horizon = rule.horizon < 0 ? rule.forward_delay : rule.horizon;
    facts.derived = {0, -horizon, rule.prediction == Prediction::Velocity && rule.momentum > 0};
  }
}

}  // namespace trainyard
