// A tensor that ranks divide among them: which of its elements are whose.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// A dimension that falls into equal parts, and which of them is meant. The last one may stand
/// over: elements beyond the whole are 0 and stay so.
struct DimensionPart {
  int dimension = -1;  // -1: none is divided
  std::int64_t part = 0;
};

/// A TensorPart is what one rank holds of a tensor, of which tensor ranks divide one dimension and
/// expert ranks another.
class TensorPart {
 public:
  TensorPart(std::span<const std::int64_t> whole, std::span<const std::int64_t> local,
             const std::array<DimensionPart, 2>&);
  std::int64_t elements() const { return elements_; }
  /// The index in the whole tensor of an element of the part; -1 where it stands over.
  std::int64_t index(std::int64_t element) const;

 private:
  struct Dimension {
    std::int64_t whole, local, first;
  };
  std::vector<Dimension> dimensions_;
  std::int64_t elements_ = 1;
};
std::vector<float> part_of_tensor(const std::vector<float>& whole, const TensorPart&);
/// Converts [rows, columns] to [columns, rows].
std::vector<float> transposed(const std::vector<float>&, std::int64_t rows, std::int64_t columns);

}  // namespace trainyard
