// What parameters are before the first update: functions of seed, layer and tensor, the same
// however the model is divided.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/model/graph.h"

namespace trainyard {

/// Matrices and kernels are uniform in the root of a result's inputs, and wider where a ReLU takes
/// half of what they make (He et al., ICCV 2015), or signals would fade through many layers. Norms
/// are 1, biases 0. shape: of the whole tensor.
std::vector<float> initial_weights(std::string_view name, std::span<const std::int64_t> shape,
                                   bool before_relu, const Random&);
/// Whether a ReLU reads the product or convolution with that parameter, at once or after a norm.
bool is_before_relu(const Graph&, TensorId parameter);

/// What one tensor rank holds of a tensor whose dimension `divided` (-1: none) falls into equal
/// parts, the last of which may stand over: elements beyond the whole are 0 and stay so.
class TensorPart {
 public:
  TensorPart(std::span<const std::int64_t> whole, std::span<const std::int64_t> local, int divided,
             std::int64_t part);
  std::int64_t elements() const { return outer_ * local_ * inner_; }
  /// In the whole tensor; -1 beyond it.
  std::int64_t index(std::int64_t element) const;

 private:
  std::int64_t outer_ = 1, whole_ = 1, local_ = 1, inner_ = 1, first_ = 0;
};
std::vector<float> part_of_tensor(const std::vector<float>& whole, const TensorPart&);
/// [rows, columns] as [columns, rows].
std::vector<float> transposed(const std::vector<float>&, std::int64_t rows, std::int64_t columns);

}  // namespace trainyard
