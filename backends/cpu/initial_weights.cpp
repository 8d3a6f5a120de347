#include "backends/cpu/initial_weights.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

std::vector<float> initial_weights(std::string_view name, std::span<const std::int64_t> shape,
                                   const Random& random) {
  std::int64_t elements = 1;
  for (std::int64_t d : shape) elements *= d;
  std::vector<float> values(static_cast<std::size_t>(elements));
  if (shape.size() < 2) {
    std::fill(values.begin(), values.end(), name.ends_with("bias") ? 0.0f : 1.0f);
    return values;
  }
  const std::int64_t inputs =
      shape.size() == 4 ? shape[1] * shape[2] * shape[3] : shape[shape.size() - 2];
  const double size = 1 / std::sqrt(static_cast<double>(inputs));
  for (std::size_t e = 0; e < values.size(); ++e)
    values[e] = static_cast<float>(size * (2 * random.uniform(e) - 1));
  return values;
}

std::vector<float> part_of_tensor(std::vector<float> whole, std::span<const std::int64_t> shape,
                                  int divided, std::int64_t parts, std::int64_t part) {
  if (divided < 0 || parts == 1) return whole;
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    (d < divided ? outer : inner) *= shape[static_cast<std::size_t>(d)];
  const std::int64_t length = inner / parts;
  std::vector<float> own;
  own.reserve(static_cast<std::size_t>(outer * length));
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto from = whole.begin() + (o * inner + part * length);
    own.insert(own.end(), from, from + length);
  }
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
