#include "backends/cpu/memory/tensor_part.h"

namespace trainyard {

TensorPart::TensorPart(std::span<const std::int64_t> whole, std::span<const std::int64_t> local,
                       int divided, std::int64_t part) {
  if (divided < 0) divided = 0, part = 0;
  for (int d = 0; d < static_cast<int>(whole.size()); ++d)
    if (d != divided) (d < divided ? outer_ : inner_) *= whole[static_cast<std::size_t>(d)];
  const auto at = static_cast<std::size_t>(divided);
  if (!whole.empty()) whole_ = whole[at], local_ = local[at];
  first_ = part * local_;
}

std::int64_t TensorPart::index(std::int64_t element) const {
  const std::int64_t row = element / (local_ * inner_), rest = element % (local_ * inner_);
  const std::int64_t along = first_ + rest / inner_;
  return along < whole_ ? (row * whole_ + along) * inner_ + rest % inner_ : -1;
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
