#include "backends/cpu/memory/tensor_part.h"

namespace trainyard {

TensorPart::TensorPart(std::span<const std::int64_t> whole, std::span<const std::int64_t> local,
                       const std::array<DimensionPart, 2>& divided) {
  for (std::size_t d = 0; d < whole.size(); ++d) {
    Dimension made{whole[d], local[d], 0};
    for (const DimensionPart& one : divided)
      if (one.dimension == static_cast<int>(d)) made.first = one.part * local[d];
    elements_ *= local[d];
    dimensions_.push_back(made);
  }
}

std::int64_t TensorPart::index(std::int64_t element) const {
  std::int64_t found = 0, stride = 1;
  for (auto d = dimensions_.rbegin(); d != dimensions_.rend(); ++d) {
    const std::int64_t along = d->first + element % d->local;
    if (along >= d->whole) return -1;
    found += along * stride;
    stride *= d->whole;
    element /= d->local;
  }
  return found;
}

std::vector<float> part_of_tensor(const std::vector<float>& whole, const TensorPart& part) {
  std::vector<float> own(static_cast<std::size_t>(part.elements()), 0.0f);
  for (std::int64_t e = 0; e < part.elements(); ++e)
    if (const std::int64_t i = part.index(e); i >= 0)
      own[static_cast<std::size_t>(e)] = whole[static_cast<std::size_t>(i)];
  return own;
}

std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> turned(values.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      turned[static_cast<std::size_t>(c * rows + r)] =
          values[static_cast<std::size_t>(r * columns + c)];
  return turned;
}

}  // namespace trainyard
