// Joins what tensor ranks have found of rows that they divide, between the two parts of a norm.
#pragma once

#include <span>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// Averages the RowMeans::values of all ranks, given in rank order, with the same bits on every
/// rank. `distances`: every second number is a mean of squared distances to the number before it (a
/// layer norm, forward), and becomes that of the distances to the average. `average` is as long as
/// the values of a rank and none of them.
void average_row_means(std::span<const float* const> by_rank, std::span<float> average,
                       bool distances);

}  // namespace trainyard
