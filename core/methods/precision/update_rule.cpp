#include "core/methods/precision/update_rule.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trainyard {
namespace {

/// A Spike has the factors of the velocity and of the new gradient in the weight step.
struct Spike {
  double velocity = 1, gradient = 0;
};

// Spike compensation adds the momentum that a delayed gradient has missed in one step; the total
// impulse stays 1 / (1 - momentum).
Spike spike(const UpdateRule& rule) {
  if (!rule.compensate_spikes) return {};
  const double kept = std::pow(rule.momentum, rule.forward_delay);
  return {kept, (1 - kept) / (1 - rule.momentum)};
}

double motion_kept(const UpdateRule& rule) {
  const double apart = rule.forward_delay - rule.backward_delay;
  return apart > 0 ? std::pow(rule.decay, 1 / apart) : 0;
}

}  // namespace

double UpdateRule::rate_of(std::int64_t t) const {
  if (reschedule <= 0 || forward_delay <= 1) return rate;
  const double done = static_cast<double>(t) / static_cast<double>(reschedule);
  return rate / std::pow(forward_delay, 1 - std::min(done, 1.0));
}

UpdateRule update_rule_of(std::string_view method, const Params& params, const StageFacts& facts,
                          double rate, double momentum) {
  UpdateRule rule;
  rule.rate = rate, rule.momentum = momentum;
  rule.forward_delay = facts.forward_delay, rule.backward_delay = facts.backward_delay;
  if (method == "pipemare") {
    rule.forward_delay = facts.mean_delay_thousandths / 1000.0;
    rule.reschedule = params.integer("reschedule");
    rule.correct_discrepancy = params.flag("correct");
    rule.decay = params.number("decay");
  } else if (method == "pipelined-backprop") {
    rule.compensate_spikes = params.flag("compensate");
    const std::string& predict = params.text("predict");
    rule.prediction = predict == "velocity" ? Prediction::Velocity
                      : predict == "weight" ? Prediction::Weight
                                            : Prediction::None;
    rule.horizon = params.number("horizon");
  }
  return rule;
}

ParameterState parameter_state(std::vector<double> weights) {
  ParameterState state;
  state.velocity.assign(weights.size(), 0);
  state.motion.assign(weights.size(), 0);
  state.before = weights;
  state.weights = std::move(weights);
  return state;
}

void update(const UpdateRule& rule, ParameterState& state, std::span<const double> gradient) {
  assert(gradient.size() == state.weights.size());
  const double rate = rule.rate_of(state.updates), kept = motion_kept(rule);
  const auto [of_velocity, of_gradient] = spike(rule);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double &w = state.weights[i], &v = state.velocity[i];
    v = rule.momentum * v + gradient[i];
    state.before[i] = w;
    w -= rate * (of_velocity * v + of_gradient * gradient[i]);
    state.motion[i] = kept * state.motion[i] + (1 - kept) * (w - state.before[i]);
  }
  ++state.updates;
}

std::vector<double> forward_weights(const UpdateRule& rule, const ParameterState& state) {
  std::vector<double> ahead = state.weights;
  const double horizon = rule.horizon < 0 ? rule.forward_delay : rule.horizon;
  const double rate = rule.rate_of(state.updates);
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    if (rule.prediction == Prediction::Velocity) ahead[i] -= rate * horizon * state.velocity[i];
    if (rule.prediction == Prediction::Weight)
      ahead[i] += horizon * (state.weights[i] - state.before[i]);
  }
  return ahead;
}

std::vector<double> backward_weights(const UpdateRule& rule, const ParameterState& state) {
  std::vector<double> rewound = state.weights;
  if (rule.correct_discrepancy)
    for (std::size_t i = 0; i < rewound.size(); ++i)
      rewound[i] -= (rule.forward_delay - rule.backward_delay) * state.motion[i];
  return rewound;
}

}  // namespace trainyard
