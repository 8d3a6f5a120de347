// How one stage's weights change, elementwise: the optimizer and the corrections that asynchronous
// methods bring. The reference for every backend, and what stability is measured on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/plan/params.h"
#include "core/program/facts.h"

namespace trainyard {

/// Linear weight prediction: the weights that a forward (and its backward) uses in place of those
/// it finds. Kosson et al., "Pipelined Backpropagation at Scale", MLSys 2021.
enum class Prediction : std::uint8_t {
  None,
  Velocity,  // w - rate * horizon * v
  Weight,    // w + horizon * (w - w of one update before)
};

/// Of one stage. Delays are in updates (see facts.h).
struct UpdateRule {
  double rate = 0.01;
  double momentum = 0;  // v <- momentum v + g;  w <- w - rate v
  double forward_delay = 0, backward_delay = 0;
  // PipeMare (Yang et al., MLSys 2021).
  std::int64_t reschedule = 0;       // T1: updates over which rate / delay anneals to rate; 0 = off
  bool correct_discrepancy = false;  // T2: backward rewinds its weights along their mean motion
  double decay = 0.1353352832366127;  // T2: D = e^-2; the mean keeps D^(1/(forward - backward
                                      // delay))
  // Pipelined backpropagation.
  bool compensate_spikes = false;  // w <- w - rate (a v + b g), a = momentum^delay
  Prediction prediction = Prediction::None;
  double horizon = -1;  // updates ahead; negative = forward_delay

  /// The rate of update t (0 is the first) after T1.
  double rate_of(std::int64_t t) const;
};

/// What a schedule with these (complete) params makes of one stage's updates; a schedule without
/// corrections leaves plain momentum. PipeMare's delays are means, since a stage's microbatches of
/// one update differ; all others are the most.
UpdateRule update_rule_of(std::string_view method, const Params&, const StageFacts&, double rate,
                          double momentum);

/// One parameter tensor and what its rule remembers of it.
struct ParameterState {
  std::vector<double> weights, velocity, motion, before;  // motion: T2's mean of w(t+1) - w(t)
  std::int64_t updates = 0;
};
ParameterState parameter_state(std::vector<double> weights);

/// Applies one gradient of the same length as the weights.
void update(const UpdateRule&, ParameterState&, std::span<const double> gradient);
/// The weights that a forward reads at this state: predicted, or as they are.
std::vector<double> forward_weights(const UpdateRule&, const ParameterState&);
/// The weights that a backward reads at this state where the program gives it newer ones than its
/// forward had: rewound by T2, or as they are.
std::vector<double> backward_weights(const UpdateRule&, const ParameterState&);

}  // namespace trainyard
