#include "core/model/sparse_pattern.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr std::size_t kValues = 1, kPattern = 2;  // inputs of a sparse product
constexpr std::int64_t kDigit = 256;  // bfloat16 has all whole numbers up to it, and no more

// Elements for each stored weight: itself, and its share of an index.
double elements_of_weight(std::int64_t block, std::int64_t digits) {
  return 1 + static_cast<double>(digits) / static_cast<double>(block);
}

void push_number(std::int64_t number, std::int64_t digits, std::vector<float>& pattern) {
  std::int64_t unit = 1;
  for (std::int64_t i = 1; i < digits; ++i) unit *= kDigit;
  for (; unit >= 1; number %= unit, unit /= kDigit)
    pattern.push_back(static_cast<float>(number / unit));
}

[[noreturn]] void refuse_pattern(const std::string& expected, double found) {
  throw Error(Error::Kind::InvalidInput,
              "expected a sparse pattern with " + expected + ", found " + std::to_string(found));
}

std::int64_t whole_number(float number, std::int64_t below, const char* expected) {
  // A number that is none, NaN, fails too.
  if (!(number >= 0 && number < static_cast<float>(below) && std::floor(number) == number))
    refuse_pattern(expected, static_cast<double>(number));
  return static_cast<std::int64_t>(number);
}

// Returns a number from its place among those of the pattern.
std::int64_t number_of(std::span<const float> pattern, std::size_t which, std::int64_t digits,
                       std::int64_t below, const char* expected) {
  const auto count = static_cast<std::size_t>(digits);
  if (count == 1) return whole_number(pattern[which], below, expected);
  std::int64_t number = 0;
  for (const float digit : pattern.subspan(which * count, count))
    number = number * kDigit + whole_number(digit, kDigit + 1, "whole digits");
  return whole_number(static_cast<float>(number), below, expected);
}

}  // namespace

SparseShape with_density(SparseShape shape, double density, double capacity) {
  const auto nearest = [&](double blocks) {
    return std::clamp<std::int64_t>(std::llround(std::min(blocks, 1e18)), 1, shape.all_blocks());
  };
  const std::int64_t stored = nearest(density * static_cast<double>(shape.all_blocks()));
  shape.blocks = nearest(capacity * static_cast<double>(stored));
  shape.spare = shape.blocks - stored;
  return shape;
}

std::int64_t digits_in_16_bits(std::int64_t row_blocks) {
  std::int64_t digits = 1;
  for (std::int64_t most = kDigit; most < row_blocks; most *= kDigit) ++digits;
  return digits;
}

Bytes sparse_bytes(const SparseShape& shape, std::int64_t value_bytes) {
  return Bytes{(shape.room() + shape.pattern_elements()) * value_bytes};
}

double equal_bytes_density(double fine_density, std::int64_t fine, std::int64_t coarse,
                           std::int64_t fine_digits, std::int64_t coarse_digits) {
  return fine_density * elements_of_weight(fine, fine_digits) /
         elements_of_weight(coarse, coarse_digits);
}

double dense_density(std::int64_t columns, std::int64_t block, std::int64_t digits) {
  const double counts = static_cast<double>(digits) / static_cast<double>(columns);
  return (1 - counts) / elements_of_weight(block, digits);
}

std::vector<float> pattern_of(const SparseShape& shape, std::span<const std::int64_t> places) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(shape.rows));
  for (const std::int64_t place : places)
    ++counts[static_cast<std::size_t>(place / shape.row_blocks())];
  std::vector<float> pattern;
  pattern.reserve(static_cast<std::size_t>(shape.pattern_elements()));
  for (const std::int64_t count : counts) push_number(count, shape.digits, pattern);
  for (const std::int64_t place : places)
    push_number(place % shape.row_blocks(), shape.digits, pattern);
  pattern.resize(static_cast<std::size_t>(shape.pattern_elements()));
  return pattern;
}

std::vector<std::int64_t> places_of(const SparseShape& shape, std::span<const float> pattern) {
  const auto rows = static_cast<std::size_t>(shape.rows),
             blocks = static_cast<std::size_t>(shape.blocks);
  if (pattern.size() != static_cast<std::size_t>(shape.pattern_elements()))
    refuse_pattern(std::to_string(shape.pattern_elements()) + " numbers",
                   static_cast<double>(pattern.size()));
  std::vector<std::int64_t> places;
  places.reserve(blocks);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t count =
        number_of(pattern, row, shape.digits, shape.row_blocks() + 1, "counts of blocks by row");
    if (places.size() + static_cast<std::size_t>(count) > blocks)
      refuse_pattern("counts that add up to its blocks", static_cast<double>(count));
    std::int64_t before = -1;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column = number_of(pattern, rows + places.size(), shape.digits,
                                            shape.row_blocks(), "columns of blocks");
      if (column <= before) refuse_pattern("rising columns in a row", static_cast<double>(column));
      before = column;
      places.push_back(static_cast<std::int64_t>(row) * shape.row_blocks() + column);
    }
  }
  if (shape.spare == 0 && places.size() != blocks)
    refuse_pattern("counts that add up to its blocks", static_cast<double>(places.size()));
  return places;
}

// Each number is taken with the share that is still needed of those that are left (Knuth, The Art
// of Computer Programming 2, algorithm S).
std::vector<std::int64_t> drawn_of(std::int64_t all, std::int64_t count, const Random& random,
                                   std::uint64_t first) {
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < all && count > 0; ++i)
    if (random.uniform(first + static_cast<std::uint64_t>(i)) * static_cast<double>(all - i) <
        static_cast<double>(count)) {
      drawn.push_back(i);
      --count;
    }
  return drawn;
}

const Op* sparse_form(const Op* dense) {
  return dense == &matmul()        ? &sparse_matmul()
         : dense == &convolution() ? &sparse_convolution()
                                   : nullptr;
}

const Op* dense_form(const Op* sparse) {
  return sparse == &sparse_matmul()        ? &matmul()
         : sparse == &sparse_convolution() ? &convolution()
                                           : nullptr;
}

std::optional<SparseWeight> sparse_weight_of(const Graph& graph, const Node& node) {
  if (dense_form(node.op) == nullptr) return std::nullopt;
  const TensorId values = node.inputs[kValues], pattern = node.inputs[kPattern];
  const Shape &stored = graph[values].shape, &numbers = graph[pattern].shape;
  const std::int64_t blocks = stored[0].size, rows = numbers[0].size - blocks,
                     columns = attribute(node, "columns");
  return SparseWeight{{rows, columns, stored[1].size, blocks,
                       numbers.size() > 1 ? numbers[1].size : 1, attribute(node, "spare")},
                      values,
                      pattern,
                      node.op == &sparse_matmul() ? rows : columns};
}

std::optional<SparseWeight> sparse_weight_of(const Graph& graph, TensorId parameter) {
  for (const Node& node : graph.nodes)
    if (const auto found = sparse_weight_of(graph, node);
        found && (found->values == parameter || found->pattern == parameter))
      return found;
  return std::nullopt;
}

bool is_pattern(const Node& node, std::size_t i) {
  return i == kPattern && dense_form(node.op) != nullptr;
}

Shape dense_shape(const Graph& graph, const Node& node) {
  const SparseShape shape = sparse_weight_of(graph, node)->shape;
  const auto dim = [&](std::int64_t size, const char* axis, const char* units) {
    return Dim{size, static_cast<Axis>(attribute(node, axis)), attribute(node, units)};
  };
  const Dim rows = dim(shape.rows, "row_axis", "row_units");
  if (node.op == &sparse_matmul()) return {rows, dim(shape.columns, "column_axis", "column_units")};
  const std::int64_t height = attribute(node, "kernel_rows", 1),
                     width = attribute(node, "kernel_columns", 1);
  return {rows,
          dim(shape.columns / (height * width), "column_axis", "column_units"),
          {height, Axis::None, 0},
          {width, Axis::None, 0}};
}

Graph dense_graph(const Graph& graph, const Node& node) {
  Graph made;
  Node dense = node;
  dense.op = dense_form(node.op);
  dense.inputs.clear(), dense.outputs.clear();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i == kPattern) continue;
    Tensor tensor = graph[node.inputs[i]];
    if (i == kValues) tensor.shape = dense_shape(graph, node);
    dense.inputs.push_back(made.add(std::move(tensor)));
  }
  for (const TensorId output : node.outputs) dense.outputs.push_back(made.add(graph[output]));
  made.nodes.push_back(std::move(dense));
  return made;
}

}  // namespace trainyard
