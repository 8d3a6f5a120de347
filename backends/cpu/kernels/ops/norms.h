// Joins what ranks have found of their parts of rows or channels, between the two parts of a norm.
#pragma once

#include <span>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// Averages the NormMeans::values of all ranks, given in rank order, with the same bits on every
/// rank. `distances`: every second number is a mean of squared distances to the number before it (a
/// layer or batch norm, forward), and becomes that of the distances to the average. `average` is as
/// long as the values of a rank and none of them.
void average_norm_means(std::span<const float* const> by_rank, std::span<float> average,
                        bool distances);

}  // namespace trainyard
