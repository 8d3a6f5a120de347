// What parameters are before the first update: functions of seed, layer and tensor, the same
// however the model is divided.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/random.h"

namespace trainyard {

/// Matrices and kernels are uniform in the root of a result's inputs; norms are 1, biases 0. shape:
/// of the whole tensor.
std::vector<float> initial_weights(std::string_view name, std::span<const std::int64_t> shape,
                                   const Random&);

/// The part that one of `parts` ranks holds of dimension `divided` (-1: all of it).
std::vector<float> part_of_tensor(std::vector<float> whole, std::span<const std::int64_t> shape,
                                  int divided, std::int64_t parts, std::int64_t part);
/// [rows, columns] as [columns, rows].
std::vector<float> transposed(const std::vector<float>&, std::int64_t rows, std::int64_t columns);

}  // namespace trainyard
