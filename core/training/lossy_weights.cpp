#include "core/training/lossy_weights.h"

#include <algorithm>
#include <cmath>

#include "core/base/singular_values.h"
#include "core/model/ops.h"
#include "core/model/tensor_train.h"
#include "core/plan/params.h"

namespace trainyard {
namespace {

std::int64_t whole_of(std::string_view value, double low, double high, const Place& place) {
  return std::get<std::int64_t>(
      parse_param({.name = "", .fallback = std::int64_t{0}, .doc = "", .low = low, .high = high},
                  value, place));
}

std::int64_t elements_of(const TrainedTensor& tensor) {
  return static_cast<std::int64_t>(tensor.values.size());
}

// Experts' matrices lie behind each other, and each is decomposed alone.
std::int64_t matrices_in(const TrainedTensor& tensor) {
  return tensor.shape.size() == 3 ? tensor.shape[0] : 1;
}
std::int64_t rows_of_matrix(const TrainedTensor& tensor) {
  return tensor.shape[tensor.shape.size() == 3 ? 1 : 0];
}

template <class Lower>
void lower_each(TrainedTensor& tensor, Lower&& lower) {
  const auto count = static_cast<std::size_t>(matrices_in(tensor)),
             each = tensor.values.size() / count;
  for (std::size_t m = 0; m < count; ++m) {
    const auto first = tensor.values.begin() + static_cast<std::ptrdiff_t>(m * each);
    std::vector<float> matrix(first, first + static_cast<std::ptrdiff_t>(each));
    lower(matrix);
    std::copy(matrix.begin(), matrix.end(), first);
  }
}

// Rows and columns of a matrix, each counted in two digits, of which the first has more values.
struct TwoDigits {
  std::int64_t rows, columns;
  std::int64_t second_rows = equal_factors(rows, 2).front(),
               second_columns = equal_factors(columns, 2).front();
  std::int64_t unfolded_rows() const { return rows / second_rows * (columns / second_columns); }
  std::int64_t unfolded_columns() const { return second_rows * second_columns; }
  std::size_t unfolded(std::int64_t row, std::int64_t column) const {
    const std::int64_t down =
                           row / second_rows * (columns / second_columns) + column / second_columns,
                       across = row % second_rows * second_columns + column % second_columns;
    return static_cast<std::size_t>(down * unfolded_columns() + across);
  }
};

const Node* reader_of(const Graph& graph, const std::string& parameter, std::size_t& input) {
  for (const Node& node : graph.nodes)
    for (input = 0; input < node.inputs.size(); ++input)
      if (graph[node.inputs[input]].kind == TensorKind::Parameter &&
          graph[node.inputs[input]].name == parameter)
        return &node;
  return nullptr;
}

std::int64_t weights_kept(const LossyWeights& loses, const TrainedTensor& tensor) {
  std::int64_t kept = elements_of(tensor);
  const std::int64_t matrices = matrices_in(tensor), rows = rows_of_matrix(tensor),
                     columns = kept / std::max<std::int64_t>(1, matrices * rows);
  if (loses.rank > 0) kept = std::min(kept, matrices * loses.rank * (rows + columns));
  if (loses.tt_rank > 0) kept = std::min(kept, matrices * tt_weights(rows, columns, loses.tt_rank));
  return kept;
}

}  // namespace

bool apply_lossy(LossyWeights& loses, std::string_view key, std::string_view value,
                 const Place& place) {
  constexpr double kMany = 1e9;
  if (key == "sparsity")
    loses.sparsity = std::get<double>(
        parse_param({.name = "", .fallback = 0.0, .doc = "", .low = 0, .high = 1}, value, place));
  else if (key == "rank")
    loses.rank = whole_of(value, 1, kMany, place);
  else if (key == "tt-rank")
    loses.tt_rank = whole_of(value, 1, kMany, place);
  else if (key == "bits")
    loses.bits = static_cast<int>(whole_of(value, 2, 8, place));
  else if (key == "group")
    loses.group = whole_of(value, 1, kMany, place);
  else
    return false;
  return true;
}

void prune(double sparsity, std::vector<TrainedTensor>& tensors) {
  std::vector<float*> weights;
  for (TrainedTensor& tensor : tensors)
    if (is_matrix(tensor))
      for (float& weight : tensor.values) weights.push_back(&weight);
  const auto count = static_cast<std::size_t>(sparsity * static_cast<double>(weights.size()));
  std::stable_sort(weights.begin(), weights.end(),
                   [](const float* a, const float* b) { return std::abs(*a) < std::abs(*b); });
  for (std::size_t i = 0; i < std::min(count, weights.size()); ++i) *weights[i] = 0;
}

void round_to_bits(int bits, std::int64_t group, const Lines& lines, std::vector<float>& weights) {
  const std::int64_t each = group > 0 ? group : lines.length;
  const double most = (1 << (bits - 1)) - 1;
  for (std::int64_t outer = 0; outer < lines.outer; ++outer)
    for (std::int64_t inner = 0; inner < lines.inner; ++inner)
      for (std::int64_t first = 0; first < lines.length; first += each) {
        const std::int64_t end = std::min(first + each, lines.length);
        const auto weight = [&](std::int64_t i) -> float& {
          return weights[static_cast<std::size_t>((outer * lines.length + i) * lines.inner +
                                                  inner)];
        };
        double largest = 0;
        for (std::int64_t i = first; i < end; ++i)
          largest = std::max(largest, std::abs(static_cast<double>(weight(i))));
        if (largest == 0) continue;
        const double scale = largest / most;
        for (std::int64_t i = first; i < end; ++i)
          weight(i) = static_cast<float>(scale * std::nearbyint(weight(i) / scale));
      }
}

Lines channels_of(const Model& model, const TrainedTensor& tensor) {
  const std::vector<std::int64_t>& shape = tensor.shape;
  const Lines by_row{shape[0], elements_of(tensor) / std::max<std::int64_t>(1, shape[0]), 1};
  int first = 0;
  for (const Block& block : model.blocks) {
    const bool here = tensor.layer >= first && tensor.layer < first + block.count;
    first += block.count;
    if (!here) continue;
    std::size_t input = 0;
    const Node* const reader = reader_of(block.graph, tensor.name, input);
    if (reader == nullptr) return by_row;
    if (reader->op == &routed_matmul() && shape.size() == 3) return {shape[0], shape[1], shape[2]};
    if (reader->op == &matmul() && shape.size() == 2) return {1, shape[0], shape[1]};
  }
  return by_row;
}

void lower_rank(std::int64_t rows, std::int64_t rank, std::vector<float>& weights) {
  const auto columns = static_cast<std::int64_t>(weights.size()) / std::max<std::int64_t>(1, rows);
  if (rank >= std::min(rows, columns)) return;
  const SingularValues svd =
      singular_values(rows, columns, std::vector<double>(weights.begin(), weights.end()));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::int64_t r = 0; r < rank; ++r)
        sum += svd.left[static_cast<std::size_t>(row * svd.rank + r)] *
               svd.values[static_cast<std::size_t>(r)] *
               svd.right[static_cast<std::size_t>(column * svd.rank + r)];
      weights[static_cast<std::size_t>(row * columns + column)] = static_cast<float>(sum);
    }
}

void lower_tt_rank(std::int64_t rows, std::int64_t rank, std::vector<float>& weights) {
  const auto columns = static_cast<std::int64_t>(weights.size()) / std::max<std::int64_t>(1, rows);
  if (weights.empty()) return;
  const TwoDigits digits{rows, columns};
  std::vector<float> unfolded(weights.size());
  const auto each = [&](auto&& f) {
    std::size_t at = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        f(weights[at++], unfolded[digits.unfolded(row, column)]);
  };
  each([](float weight, float& into) { into = weight; });
  lower_rank(digits.unfolded_rows(), rank, unfolded);
  each([](float& weight, float from) { weight = from; });
}

std::int64_t tt_weights(std::int64_t rows, std::int64_t columns, std::int64_t rank) {
  const TwoDigits digits{rows, columns};
  const std::int64_t row_bases[] = {rows / digits.second_rows, digits.second_rows},
                     column_bases[] = {columns / digits.second_columns, digits.second_columns},
                     between[] = {
                         std::min({rank, digits.unfolded_rows(), digits.unfolded_columns()})};
  return train_weights(row_bases, column_bases, between);
}

void lose(const LossyWeights& loses, const Model& model, std::vector<TrainedTensor>& tensors) {
  if (loses.sparsity > 0) prune(loses.sparsity, tensors);
  for (TrainedTensor& tensor : tensors) {
    if (!is_matrix(tensor)) continue;
    const std::int64_t rows = rows_of_matrix(tensor);
    if (loses.rank > 0)
      lower_each(tensor, [&](std::vector<float>& m) { lower_rank(rows, loses.rank, m); });
    if (loses.tt_rank > 0)
      lower_each(tensor, [&](std::vector<float>& m) { lower_tt_rank(rows, loses.tt_rank, m); });
    if (loses.bits > 0)
      round_to_bits(loses.bits, loses.group, channels_of(model, tensor), tensor.values);
  }
}

double lossy_bytes(const LossyWeights& loses, const Model& model,
                   const std::vector<TrainedTensor>& tensors) {
  constexpr double kWhole = 32, kScale = 16, kByte = 8;
  double bits = 0;
  for (const TrainedTensor& tensor : tensors) {
    if (!is_matrix(tensor)) {
      bits += kWhole * static_cast<double>(tensor.values.size());
      continue;
    }
    auto kept = static_cast<double>(weights_kept(loses, tensor));
    if (loses.sparsity > 0) {
      bits += kept;  // the mask
      kept *= 1 - loses.sparsity;
    }
    bits += kept * (loses.bits > 0 ? loses.bits : kWhole);
    if (loses.bits == 0) continue;
    const Lines lines = channels_of(model, tensor);
    const std::int64_t groups =
        loses.group > 0 ? (lines.length + loses.group - 1) / loses.group : 1;
    bits += kScale * static_cast<double>(lines.outer * lines.inner * groups);
  }
  return bits / kByte;
}

}  // namespace trainyard
