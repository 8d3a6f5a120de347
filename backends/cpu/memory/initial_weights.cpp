#include "backends/cpu/memory/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "core/model/ops.h"

namespace trainyard {

bool is_before_relu(const Graph& graph, TensorId parameter) {
  const auto reads = [](const Node& node, TensorId tensor) {
    return std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end();
  };
  for (const Node& product : graph.nodes) {
    if (product.inputs.size() < 2 || product.inputs[1] != parameter) continue;
    TensorId made = product.outputs[0];
    for (const Node& node : graph.nodes) {  // in the order in which they run
      if (!reads(node, made)) continue;
      if (node.op == &relu()) return true;
      if (node.op == &batch_norm() && node.inputs[0] == made) made = node.outputs[0];
    }
  }
  return false;
}

std::vector<float> initial_weights(std::string_view name, std::span<const std::int64_t> shape,
                                   bool before_relu, const Random& random) {
  std::int64_t elements = 1;
  for (std::int64_t d : shape) elements *= d;
  std::vector<float> values(static_cast<std::size_t>(elements));
  if (shape.size() < 2) {
    std::fill(values.begin(), values.end(), name.ends_with("bias") ? 0.0f : 1.0f);
    return values;
  }
  const std::int64_t inputs =
      shape.size() == 4 ? shape[1] * shape[2] * shape[3] : shape[shape.size() - 2];
  const double size = std::sqrt((before_relu ? 6.0 : 1.0) / static_cast<double>(inputs));
  for (std::size_t e = 0; e < values.size(); ++e)
    values[e] = static_cast<float>(size * (2 * random.uniform(e) - 1));
  return values;
}

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
