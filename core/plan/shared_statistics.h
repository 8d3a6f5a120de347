// The choice by which the batch norms of all replicas have one mean and one variance
// (core/methods/parallel/batch_norm_statistics.cpp).
#pragma once

#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kBatchNormStatistics = "batch-norm-statistics";
// Its parameter, and the values of that.
inline constexpr std::string_view kStatisticsSamples = "samples", kSamplesOfReplica = "replica",
                                  kSamplesOfReplicas = "replicas";

/// Returns whether the batch norms of a complete plan normalise by the samples of all replicas: the
/// plan says so, and there are at least two.
bool shares_statistics(const Plan&);

}  // namespace trainyard
