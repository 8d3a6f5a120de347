#include "core/quality/eigenspace_instability.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/singular_values.h"

namespace trainyard {
namespace {

// Columns of equal length, row-major.
struct Columns {
  std::int64_t rows = 0, count = 0;
  std::vector<double> numbers = {};
  double at(std::int64_t row, std::int64_t column) const {
    return numbers[static_cast<std::size_t>(row * count + column)];
  }
};

SingularValues decompose(const EmbeddingTable& table) {
  const std::int64_t rows = std::min(table.rows, kComparedRows);
  const auto first = table.numbers.begin();
  return singular_values(rows, table.width, std::vector<double>(first, first + rows * table.width));
}

// Directions in which a table has nothing but rounding are no part of its space.
std::int64_t numerical_rank(const SingularValues& svd) {
  constexpr double kNothing = 1e-10;
  std::int64_t rank = 0;
  while (rank < svd.rank && svd.values[static_cast<std::size_t>(rank)] > kNothing * svd.values[0])
    ++rank;
  return rank;
}

Columns basis(const EmbeddingTable& table) {
  const SingularValues svd = decompose(table);
  Columns made{svd.rows, numerical_rank(svd)};
  for (std::int64_t row = 0; row < made.rows; ++row)
    for (std::int64_t c = 0; c < made.count; ++c)
      made.numbers.push_back(svd.left[static_cast<std::size_t>(row * svd.rank + c)]);
  return made;
}

// A with A A^T = (E E^T)^exponent.
Columns weighted_anchor(const EmbeddingTable& table, double exponent) {
  const SingularValues svd = decompose(table);
  Columns made{svd.rows, numerical_rank(svd)};
  for (std::int64_t row = 0; row < made.rows; ++row)
    for (std::int64_t c = 0; c < made.count; ++c)
      made.numbers.push_back(svd.left[static_cast<std::size_t>(row * svd.rank + c)] *
                             std::pow(svd.values[static_cast<std::size_t>(c)], exponent));
  return made;
}

// a^T b
Columns product(const Columns& a, const Columns& b) {
  Columns made{a.count, b.count, std::vector<double>(static_cast<std::size_t>(a.count * b.count))};
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (std::int64_t i = 0; i < a.count; ++i)
      for (std::int64_t j = 0; j < b.count; ++j)
        made.numbers[static_cast<std::size_t>(i * b.count + j)] += a.at(row, i) * b.at(row, j);
  return made;
}

double sum_of_products(const Columns& a, const Columns& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) sum += a.numbers[i] * b.numbers[i];
  return sum;
}

}  // namespace

double eigenspace_instability(const EmbeddingTable& first, const EmbeddingTable& second,
                              const EmbeddingTable& first_anchor,
                              const EmbeddingTable& second_anchor, double exponent) {
  const Columns u = basis(first), v = basis(second);
  const Columns overlap = product(u, v);
  double moved = 0, all = 0;
  for (const EmbeddingTable& table : {first_anchor, second_anchor}) {
    const Columns anchor = weighted_anchor(table, exponent);
    const Columns in_u = product(u, anchor), in_v = product(v, anchor);
    // tr(V V^T U U^T A A^T) = <U^T A, (U^T V) (V^T A)>
    Columns by_v{overlap.count, overlap.rows, {}};
    for (std::int64_t j = 0; j < overlap.count; ++j)
      for (std::int64_t i = 0; i < overlap.rows; ++i) by_v.numbers.push_back(overlap.at(i, j));
    moved += sum_of_products(in_u, in_u) + sum_of_products(in_v, in_v) -
             2 * sum_of_products(in_u, product(by_v, in_v));
    all += sum_of_products(anchor, anchor);
  }
  return all > 0 ? std::max(0.0, moved / all) : 0;
}

}  // namespace trainyard
