// EvaluationCost is what a training stops for to be evaluated (core/methods/data/evaluation.cpp),
// beside its steps.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/banded.h"
#include "core/base/units.h"

namespace trainyard {

struct EvaluationCost {
  std::int64_t samples = 1, every = 1;  // of an evaluation; steps from one to the next
  std::int64_t replicas = 1;            // that evaluate a part each
  Banded<Duration> time;                // of an evaluation, in which nothing is learnt
  /// Returns the time that it adds to a step on average, as a share of the step.
  double of_step(Duration step) const {
    return step.count() <= 0
               ? 0
               : to_seconds(time.value) / (static_cast<double>(every) * to_seconds(step));
  }
};

/// Returns "evaluating 10000 samples once in 1000 steps takes 1.2 s on each of 64 replicas, 0.3 %
/// of the time to train".
std::string evaluation_sentence(const EvaluationCost&, Duration step);

}  // namespace trainyard
