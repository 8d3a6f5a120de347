// A tensor that ranks divide among them: which of its elements are whose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// What one tensor rank holds of a tensor whose dimension `divided` (-1: none) falls into equal
/// parts, the last of which may stand over: elements beyond the whole are 0 and stay so.
class TensorPart {
 public:
  TensorPart(std::span<const std::int64_t> whole, std::span<const std::int64_t> local, int divided,
             std::int64_t part);
  std::int64_t elements() const { return outer_ * local_ * inner_; }
  /// The index in the whole tensor of an element of the part; -1 where it stands over.
  std::int64_t index(std::int64_t element) const;

 private:
  std::int64_t outer_ = 1, whole_ = 1, local_ = 1, inner_ = 1, first_ = 0;
};
std::vector<float> part_of_tensor(const std::vector<float>& whole, const TensorPart&);
/// Converts [rows, columns] to [columns, rows].
std::vector<float> transposed(const std::vector<float>&, std::int64_t rows, std::int64_t columns);

}  // namespace trainyard
