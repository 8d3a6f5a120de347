// An UpdateRule says how one stage's weights change, element by element: the optimizer and the
// corrections that asynchronous methods add. It is the reference for every backend, and stability
// is measured on it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/plan/params.h"
#include "core/program/facts.h"

namespace trainyard {

/// Prediction is linear weight prediction: a forward (and its backward) uses predicted weights in
/// place of the current ones. Kosson et al., "Pipelined Backpropagation at Scale", MLSys 2021.
enum class Prediction : std::uint8_t {
  None,
  Velocity,  // w - rate * horizon * v
  Weight,    // w + horizon * (w - w before the last update)
};

/// The rule of one stage. Delays are in updates (see facts.h).
struct UpdateRule {
  double rate = 0.01;
  double momentum = 0;  // v <- momentum v + g;  w <- w - rate v
  double forward_delay = 0, backward_delay = 0;
  // The next three are for PipeMare (Yang et al., MLSys 2021).
  std::int64_t reschedule = 0;  // T1: updates over which the rate grows from rate / delay to rate;
                                // 0 = off
  bool correct_discrepancy = false;   // T2: backward moves its weights back along their mean change
  double decay = 0.1353352832366127;  // T2: D = e^-2; the mean decays by D^(1/(forward - backward
                                      // delay)) per update
  // The next three are for pipelined backpropagation.
  bool compensate_spikes = false;  // w <- w - rate (a v + b g), a = momentum^delay
  Prediction prediction = Prediction::None;
  double horizon = -1;  // updates ahead; negative = forward_delay

  /// Returns the rate of update t (the first is 0) after T1.
  double rate_of(std::int64_t t) const;
};

/// Returns the rule that a schedule with these (complete) params applies to one stage's updates; a
/// schedule without corrections gives plain momentum. PipeMare's delays are means, because they
/// differ between the microbatches of one update; all others are maxima.
UpdateRule update_rule_of(std::string_view method, const Params&, const StageFacts&, double rate,
                          double momentum);

/// ParameterState is one parameter tensor and what its rule remembers of it.
struct ParameterState {
  std::vector<double> weights, velocity, motion, before;  // motion: T2's mean of w(t+1) - w(t)
  std::int64_t updates = 0;
};
ParameterState parameter_state(std::vector<double> weights);

/// Applies one gradient, which must be as long as the weights.
void update(const UpdateRule&, ParameterState&, std::span<const double> gradient);
/// Returns the weights that a forward reads in this state: predicted, or the current ones.
std::vector<double> forward_weights(const UpdateRule&, const ParameterState&);
/// Returns the weights that a backward reads in this state where the program gives it newer ones
/// than its forward had: moved back by T2, or the current ones.
std::vector<double> backward_weights(const UpdateRule&, const ParameterState&);

}  // namespace trainyard
