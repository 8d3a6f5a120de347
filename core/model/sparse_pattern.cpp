#include "core/model/sparse_pattern.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr std::size_t kValues = 1, kPattern = 2;  // inputs of a sparse product

double bytes_of_weight(std::int64_t block, std::int64_t value_bytes) {
  return static_cast<double>(value_bytes) +
         static_cast<double>(kPatternBytes) / static_cast<double>(block);
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

}  // namespace

SparseShape with_density(SparseShape shape, double density) {
  shape.blocks = std::clamp<std::int64_t>(
      std::llround(density * static_cast<double>(shape.all_blocks())), 1, shape.all_blocks());
  return shape;
}

Bytes sparse_bytes(const SparseShape& shape, std::int64_t value_bytes) {
  return Bytes{shape.stored() * value_bytes + (shape.rows + shape.blocks) * kPatternBytes};
}

double equal_bytes_density(double fine_density, std::int64_t fine, std::int64_t coarse,
                           std::int64_t value_bytes) {
  return fine_density * bytes_of_weight(fine, value_bytes) / bytes_of_weight(coarse, value_bytes);
}

double dense_density(std::int64_t columns, std::int64_t block, std::int64_t value_bytes) {
  const double counts = static_cast<double>(kPatternBytes) / static_cast<double>(columns);
  return (static_cast<double>(value_bytes) - counts) / bytes_of_weight(block, value_bytes);
}

std::vector<float> pattern_of(const SparseShape& shape, std::span<const std::int64_t> places) {
  std::vector<float> pattern(static_cast<std::size_t>(shape.rows), 0.0F);
  pattern.reserve(pattern.size() + places.size());
  for (const std::int64_t place : places) {
    pattern[static_cast<std::size_t>(place / shape.row_blocks())] += 1;
    pattern.push_back(static_cast<float>(place % shape.row_blocks()));
  }
  return pattern;
}

std::vector<std::int64_t> places_of(const SparseShape& shape, std::span<const float> pattern) {
  const auto rows = static_cast<std::size_t>(shape.rows),
             blocks = static_cast<std::size_t>(shape.blocks);
  if (pattern.size() != rows + blocks)
    refuse_pattern(std::to_string(rows + blocks) + " numbers", static_cast<double>(pattern.size()));
  std::vector<std::int64_t> places;
  places.reserve(blocks);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t count =
        whole_number(pattern[row], shape.row_blocks() + 1, "counts of blocks by row");
    if (places.size() + static_cast<std::size_t>(count) > blocks)
      refuse_pattern("counts that add up to its blocks", static_cast<double>(pattern[row]));
    std::int64_t before = -1;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column =
          whole_number(pattern[rows + places.size()], shape.row_blocks(), "columns of blocks");
      if (column <= before) refuse_pattern("rising columns in a row", static_cast<double>(column));
      before = column;
      places.push_back(static_cast<std::int64_t>(row) * shape.row_blocks() + column);
    }
  }
  if (places.size() != blocks)
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

std::optional<SparseWeight> sparse_weight_of(const Graph& graph, const Node& node) {
  if (node.op != &sparse_matmul()) return std::nullopt;
  const TensorId values = node.inputs[kValues], pattern = node.inputs[kPattern];
  const Shape& stored = graph[values].shape;
  const std::int64_t blocks = stored[0].size;
  return SparseWeight{
      {graph[pattern].shape[0].size - blocks, attribute(node, "columns"), stored[1].size, blocks},
      values,
      pattern};
}

std::optional<SparseWeight> sparse_weight_of(const Graph& graph, TensorId parameter) {
  for (const Node& node : graph.nodes)
    if (const auto found = sparse_weight_of(graph, node);
        found && (found->values == parameter || found->pattern == parameter))
      return found;
  return std::nullopt;
}

bool is_pattern(const Node& node, std::size_t i) {
  return i == kPattern && node.op == &sparse_matmul();
}

}  // namespace trainyard
