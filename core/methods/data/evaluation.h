// This file says how often a training stops to be evaluated on held-out samples, and by whom
// (evaluation.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kEvaluation = "evaluation";
inline constexpr std::string_view kEvaluators = "by";  // its parameter
inline constexpr std::string_view kNoEvaluation = "none";

struct EvaluationPlan {
  bool distributed = false;   // all replicas evaluate a part each; else one evaluates everything
  std::int64_t every = 1;     // steps from one evaluation to the next
  std::int64_t samples = 1;   // of each
  std::int64_t replicas = 1;  // that evaluate
  /// Returns the samples of the replica that has most.
  std::int64_t most() const { return (samples + replicas - 1) / replicas; }
};
/// Nothing where a complete plan does not evaluate.
std::optional<EvaluationPlan> evaluation_of(const Plan&);

}  // namespace trainyard
