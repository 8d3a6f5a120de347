#include "core/training/lossy_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/singular_values.h"
#include "core/base/vectorised.h"
#include "core/model/ops.h"
#include "core/model/tensor_train.h"
#include "core/plan/params.h"
#include "core/training/numbers/bit_errors.h"
#include "core/training/numbers/boveda.h"
#include "core/training/numbers/vector_scales.h"

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

// A line's numbers lie behind one another, or one from each line of a row beside one another.
TRAINYARD_VECTORISED double largest_size(const float* line, std::size_t count) {
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(line[i]));
  return static_cast<double>(largest);
}
TRAINYARD_VECTORISED void take_largest(const float* row, std::size_t count, double* largest) {
  for (std::size_t i = 0; i < count; ++i)
    largest[i] = std::max(largest[i], std::fabs(static_cast<double>(row[i])));
}
TRAINYARD_VECTORISED void round_line(float* line, std::size_t count, double scale) {
  if (scale == 0) return;
  for (std::size_t i = 0; i < count; ++i)
    line[i] = static_cast<float>(scale * std::nearbyint(static_cast<double>(line[i]) / scale));
}
TRAINYARD_VECTORISED void round_row(float* row, std::size_t count, const double* scales) {
  for (std::size_t i = 0; i < count; ++i) {
    const double scale = scales[i] > 0 ? scales[i] : 1;  // of a line of zeros, which stay so
    row[i] = static_cast<float>(scale * std::nearbyint(static_cast<double>(row[i]) / scale));
  }
}

// Calls f(index, scale) for each weight of the groups that have one other than zero.
template <class F>
void each_group(int bits, std::int64_t group, const Lines& lines, const std::vector<float>& weights,
                F&& f) {
  const std::int64_t each = group > 0 ? group : lines.length;
  const double most = (1 << (bits - 1)) - 1;
  for (std::int64_t outer = 0; outer < lines.outer; ++outer)
    for (std::int64_t inner = 0; inner < lines.inner; ++inner)
      for (std::int64_t first = 0; first < lines.length; first += each) {
        const std::int64_t end = std::min(first + each, lines.length);
        const auto at = [&](std::int64_t i) {
          return static_cast<std::size_t>((outer * lines.length + i) * lines.inner + inner);
        };
        double largest = 0;
        for (std::int64_t i = first; i < end; ++i)
          largest = std::max(largest, std::abs(static_cast<double>(weights[at(i)])));
        if (largest == 0) continue;
        for (std::int64_t i = first; i < end; ++i) f(at(i), largest / most);
      }
}

double scales_of(const LossyWeights& loses, const Lines& lines) {
  if (loses.bit_errors) return 1;
  const std::int64_t groups = loses.group > 0 ? (lines.length + loses.group - 1) / loses.group : 1;
  return static_cast<double>(lines.outer * lines.inner * groups);
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
  else if (key == "scale-bits")
    loses.scale_bits = static_cast<int>(whole_of(value, 1, 10, place));
  else if (key == "bit-errors")
    loses.bit_errors = std::get<double>(
        parse_param({.name = "", .fallback = 0.0, .doc = "", .low = 0, .high = 1}, value, place));
  else if (key == "chips")
    loses.chips = whole_of(value, 1, 100'000, place);
  else
    return false;
  return true;
}

void expect_consistent(const LossyWeights& loses, const Place& place) {
  if (loses.scale_bits > 0 && (loses.bits == 0 || loses.group == 0))
    throw Error(Error::Kind::InvalidInput,
                fmt::format("scales of few bits are those of groups of codes, found scale-bits={0} "
                            "without them; try bits=4,group=16,scale-bits={0}",
                            loses.scale_bits),
                place);
  if (loses.group > 0 && loses.bits == 0)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("groups are those of codes that share a scale, found group={0} without "
                            "them; try bits=4,group={0}",
                            loses.group),
                place);
  if (!loses.bit_errors) return;
  if (loses.bits == 0)
    throw Error(Error::Kind::InvalidInput,
                "bit errors flip bits of codes, found weights that are no codes; try "
                "bits=8,bit-errors=" +
                    fmt::format("{}", *loses.bit_errors),
                place);
  if (loses.group > 0)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("codes of a memory with bit errors have one range for each tensor, "
                            "found group={}; leave the group out",
                            loses.group),
                place);
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
  const auto beside = static_cast<std::size_t>(lines.inner);
  std::vector<double> scales(beside);
  for (std::int64_t outer = 0; outer < lines.outer; ++outer)
    for (std::int64_t first = 0; first < lines.length; first += each) {
      const std::int64_t count = std::min(each, lines.length - first);
      float* const from = weights.data() + (outer * lines.length + first) * lines.inner;
      const auto all = static_cast<std::size_t>(count);
      if (beside == 1) {
        round_line(from, all, largest_size(from, all) / most);
        continue;
      }
      std::fill(scales.begin(), scales.end(), 0.0);
      for (std::size_t i = 0; i < all; ++i) take_largest(from + i * beside, beside, scales.data());
      for (double& scale : scales) scale /= most;
      for (std::size_t i = 0; i < all; ++i) round_row(from + i * beside, beside, scales.data());
    }
}

Lines channels_of(const Op* reader, std::span<const std::int64_t> shape) {
  if (reader == &routed_matmul() && shape.size() == 3) return {shape[0], shape[1], shape[2]};
  if (reader == &matmul() && shape.size() == 2) return {1, shape[0], shape[1]};
  std::int64_t length = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) length *= shape[d];
  return {shape[0], length, 1};
}

Lines channels_of(const Model& model, const TrainedTensor& tensor) {
  int first = 0;
  for (const Block& block : model.blocks) {
    const bool here = tensor.layer >= first && tensor.layer < first + block.count;
    first += block.count;
    std::size_t input = 0;
    const Node* const reader = here ? reader_of(block.graph, tensor.name, input) : nullptr;
    if (reader != nullptr) return channels_of(reader->op, tensor.shape);
  }
  return channels_of(static_cast<const Op*>(nullptr), tensor.shape);
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
    if (loses.bit_errors)
      store_with_errors(loses.bits, {}, tensor.values);
    else if (loses.scale_bits > 0)
      round_to_vectors({loses.bits, loses.group, loses.scale_bits}, channels_of(model, tensor),
                       tensor.values);
    else if (loses.bits > 0)
      round_to_bits(loses.bits, loses.group, channels_of(model, tensor), tensor.values);
  }
}

void flip_bits(const LossyWeights& loses, std::uint64_t chip, std::vector<TrainedTensor>& tensors) {
  for (std::size_t t = 0; t < tensors.size(); ++t)
    if (is_matrix(tensors[t]))
      store_with_errors(loses.bits, {*loses.bit_errors, chip, t}, tensors[t].values);
}

double lossy_bytes(const LossyWeights& loses, const Model& model,
                   const std::vector<TrainedTensor>& tensors) {
  constexpr double kWhole = 32, kScale = 16, kRange = 64, kByte = 8;
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
    const double scale = loses.scale_bits > 0 ? loses.scale_bits : kScale;
    bits += (loses.bit_errors ? kRange : scale) * scales_of(loses, lines);
    if (loses.scale_bits > 0) bits += kWhole * static_cast<double>(lines.outer * lines.inner);
  }
  return bits / kByte;
}

std::optional<LosslessWeights> lossless_weights(const LossyWeights& loses, const Model& model,
                                                const std::vector<TrainedTensor>& tensors) {
  if (loses.bits == 0 || loses.scale_bits > 0 || loses.bit_errors || loses.rank > 0 ||
      loses.tt_rank > 0)
    return {};
  constexpr double kWhole = 4, kScale = 2;
  LosslessWeights found;
  double stored = 0, numbers = 0;
  for (const TrainedTensor& tensor : tensors) {
    if (!is_matrix(tensor)) {
      found.bytes += kWhole * static_cast<double>(tensor.values.size());
      continue;
    }
    const Lines lines = channels_of(model, tensor);
    std::vector<std::int8_t> codes(tensor.values.size());
    each_group(loses.bits, loses.group, lines, tensor.values, [&](std::size_t at, double scale) {
      codes[at] = static_cast<std::int8_t>(std::nearbyint(tensor.values[at] / scale));
    });
    const BovedaTensor packed = boveda_encode(codes);
    stored += packed.ratio() * static_cast<double>(codes.size());
    numbers += static_cast<double>(codes.size());
    found.worst_ratio = std::max(found.worst_ratio, packed.worst_ratio());
    found.bytes += kScale * scales_of(loses, lines);
  }
  if (numbers == 0) return {};
  found.ratio = stored / numbers;
  found.bytes += stored;
  return found;
}

}  // namespace trainyard
