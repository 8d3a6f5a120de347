// ElasticAveraging is what replicas that have each made steps of their own do with their weights
// when they meet (core/methods/parallel/relaxed_synchrony.cpp). Sums are of all replicas in rank
// order, so that each of them computes the same numbers.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard {

/// Replaces numbers of one replica by the mean: sum / replicas, rounded once.
void take_mean(std::span<float> numbers, std::span<const float> sum, std::int64_t replicas);

/// Moves the weights of one replica to the centre by elasticity / replicas of their distance, and
/// its copy of the centre to the mean by `elasticity` of theirs, both from where they were. All
/// spans have one length.
void pull_together(std::span<float> weights, std::span<float> centre, std::span<const float> sum,
                   std::int64_t replicas, double elasticity);

}  // namespace trainyard
