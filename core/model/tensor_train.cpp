#include "core/model/tensor_train.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/model/op.h"

namespace trainyard {
namespace {

std::int64_t root(std::int64_t size, double power) {
  return std::llround(std::floor(std::pow(static_cast<double>(size), power) + 1e-6));
}

double entropy(std::span<const std::int64_t> factors) {
  double sum = 0, found = 0;
  for (const std::int64_t f : factors) sum += static_cast<double>(f);
  for (const std::int64_t f : factors) {
    const double share = static_cast<double>(f) / sum;
    found -= share * std::log(share);
  }
  return found;
}

std::vector<std::int64_t> two_factors(std::int64_t size) {
  std::int64_t small = root(size, 1.0 / 2);
  while (size % small != 0) --small;
  return {small, size / small};
}

// The least numbers of at most one apart whose product is at least the size, in rising order.
CoreDigits rounded_factors(std::int64_t size) {
  std::int64_t most = std::max<std::int64_t>(1, root(size, 1.0 / 3));
  while (most * most * most < size) ++most;
  CoreDigits factors{most, most, most};
  for (std::size_t i = 0; i + 1 < kCores; ++i) {
    --factors[i];
    if (factors[0] * factors[1] * factors[2] >= size) continue;
    ++factors[i];
    break;
  }
  return factors;
}

constexpr double kLeastDraw = 2;

// The variance of normal numbers of a size of at least kLeastDraw.
double drawn_variance() {
  const double density = std::exp(-kLeastDraw * kLeastDraw / 2) / std::sqrt(2 * std::numbers::pi);
  const double beyond = std::erfc(kLeastDraw / std::numbers::sqrt2) / 2;
  return 1 + kLeastDraw * density / beyond;
}

// Draws a normal number of a size of at least kLeastDraw (Marsaglia, "Generating a Variable from
// the Tail of the Normal Distribution", Technometrics 1964).
double drawn_tail(const Random& random) {
  for (std::uint64_t i = 0;; i += 2) {
    const double size = std::sqrt(kLeastDraw * kLeastDraw - 2 * std::log(1 - random.uniform(i)));
    const double other = random.uniform(i + 1);
    const double side = 2 * other - 1;
    if (std::abs(side) * size < kLeastDraw) return side < 0 ? -size : size;
  }
}

}  // namespace

std::int64_t train_weights(std::span<const std::int64_t> row_bases,
                           std::span<const std::int64_t> column_bases,
                           std::span<const std::int64_t> ranks) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < row_bases.size(); ++k)
    sum += (k > 0 ? ranks[k - 1] : 1) * row_bases[k] * column_bases[k] *
           (k < ranks.size() ? ranks[k] : 1);
  return sum;
}

std::int64_t TensorTrain::slice(std::size_t core) const {
  return (core > 0 ? core > 1 ? second_rank : first_rank : 1) * column_bases[core] *
         (core == 0   ? first_rank
          : core == 1 ? second_rank
                      : 1);
}

std::int64_t TensorTrain::weights() const {
  const std::int64_t ranks[] = {first_rank, second_rank};
  return train_weights(row_bases, column_bases, ranks);
}

double TensorTrain::flops() const {
  const auto q1 = static_cast<double>(column_bases[0]);
  return 2 * q1 * static_cast<double>(slice(1)) +
         2 * q1 * static_cast<double>(column_bases[1]) * static_cast<double>(slice(2));
}

double TensorTrain::gradient_flops() const {
  return 2 * flops() + 2 * static_cast<double>(column_bases[0]) * static_cast<double>(slice(1));
}

std::vector<std::int64_t> equal_factors(std::int64_t size, int count) {
  if (count == 2) return two_factors(size);
  std::vector<std::int64_t> best;
  for (std::int64_t least = root(size, 1.0 / 3); least >= 1; --least) {
    if (size % least != 0) continue;
    std::vector<std::int64_t> factors = two_factors(size / least);
    factors.insert(factors.begin(), least);
    if (best.empty() || entropy(factors) > entropy(best)) best = std::move(factors);
  }
  std::sort(best.begin(), best.end());
  return best;
}

TensorTrain tensor_train_of(std::int64_t rows, std::int64_t width, std::int64_t rank) {
  const CoreDigits p = rounded_factors(rows);
  const std::vector<std::int64_t> q = equal_factors(width, kCores);
  TensorTrain train{rows, {p[1], p[0], p[2]}, {q[1], q[0], q[2]}};
  const auto unfolded = [&](std::size_t core) {
    return train.row_bases[core] * train.column_bases[core];
  };
  train.first_rank = std::min({rank, unfolded(0), unfolded(1) * unfolded(2)});
  train.second_rank = std::min({rank, unfolded(2), train.first_rank * unfolded(1)});
  return train;
}

TensorTrain tensor_train_of(const Graph& graph, const Node& node) {
  TensorTrain train;
  train.rows = attribute(node, "rows");
  train.first_rank = std::max<std::int64_t>(1, attribute(node, "first_rank"));
  train.second_rank = std::max<std::int64_t>(1, attribute(node, "second_rank"));
  const std::int64_t ranks[] = {train.first_rank, train.first_rank * train.second_rank,
                                train.second_rank};
  for (std::size_t k = 0; k < kCores; ++k) {
    const Shape& core = graph[node.inputs[k + 1]].shape;
    train.row_bases[k] = core[0].size;
    train.column_bases[k] = core[1].size / ranks[k];
  }
  return train;
}

TrainStart train_start_of(const Node& node) {
  return attribute(node, "published_start") != 0 ? TrainStart::Published : TrainStart::Normalised;
}

std::vector<float> started_core(const TensorTrain& train, TrainStart start, std::size_t count,
                                const Random& random) {
  double scale = std::pow(3 * static_cast<double>(train.rows), -1.0 / (2 * kCores));
  if (start == TrainStart::Normalised)
    scale *=
        std::pow(static_cast<double>(train.first_rank * train.second_rank), -1.0 / (2 * kCores)) /
        std::sqrt(drawn_variance());
  std::vector<float> values(count);
  for (std::size_t e = 0; e < count; ++e)
    values[e] = static_cast<float>(scale * drawn_tail(Random(random.bits(e))));
  return values;
}

}  // namespace trainyard
