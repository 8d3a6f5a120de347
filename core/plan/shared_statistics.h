// The choice by which the batch norms of all replicas have one mean and one variance
// (core/methods/parallel/batch_norm_statistics.cpp).
#pragma once

#include <cstdint>
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
/// Returns the number of samples whose mean and variance a batch norm of the model normalises by
/// under a complete plan; 0 for a model without batch norms.
std::int64_t samples_of_statistics(const Model&, const Plan&);

}  // namespace trainyard
