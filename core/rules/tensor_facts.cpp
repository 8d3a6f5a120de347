#include "core/rules/tensor_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace trainyard {
namespace {

// Sums are taken in lanes of single precision over so many numbers, then in double precision: as
// fast as a vector adds, and always in one order.
constexpr std::size_t kFactLanes = 16, kFactBlock = 1024;
constexpr float kLargestNumber = std::numeric_limits<float>::max();

using Lanes = std::array<float, kFactLanes>;

double sum_of_lanes(const Lanes& lanes) {
  double sum = 0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

struct FactLanes {
  Lanes sizes{}, sum{}, squares{}, zeros{}, nans{}, infinite{};
  Lanes low, high;
  FactLanes() {
    low.fill(kLargestNumber);
    high.fill(-kLargestNumber);
  }

  void take(const float* from, float scale) {
    for (std::size_t l = 0; l < kFactLanes; ++l) {
      const float x = from[l] * scale, size = std::fabs(x);
      sizes[l] += size;
      sum[l] += x;
      squares[l] += x * x;
      zeros[l] += x == 0 ? 1.0f : 0.0f;
      nans[l] += x != x ? 1.0f : 0.0f;
      infinite[l] += size > kLargestNumber ? 1.0f : 0.0f;
      low[l] = x < low[l] ? x : low[l];
      high[l] = x > high[l] ? x : high[l];
    }
  }
  void add_to(TensorFacts& facts) const {
    facts.absolute_sum += sum_of_lanes(sizes);
    facts.sum += sum_of_lanes(sum);
    facts.square_sum += sum_of_lanes(squares);
    facts.zeros += static_cast<std::int64_t>(sum_of_lanes(zeros));
    facts.nans += static_cast<std::int64_t>(sum_of_lanes(nans));
    facts.infinities += static_cast<std::int64_t>(sum_of_lanes(infinite));
  }
};

double mean_square_distance(double count, double sum, double square_sum) {
  if (count <= 0) return 0;
  const double mean = sum / count;
  return std::max(0.0, square_sum / count - mean * mean);
}

}  // namespace

double UnitFacts::variance() const { return mean_square_distance(count, sum, square_sum); }

double TensorFacts::mean() const { return elements > 0 ? sum / static_cast<double>(elements) : 0; }
double TensorFacts::absolute_mean() const {
  return elements > 0 ? absolute_sum / static_cast<double>(elements) : 0;
}
double TensorFacts::variance() const {
  return mean_square_distance(static_cast<double>(elements), sum, square_sum);
}

TensorFacts& TensorFacts::operator+=(const TensorFacts& more) {
  if (numbers() == 0) {
    low = more.low, high = more.high;
  } else if (more.numbers() > 0) {
    low = std::min(low, more.low), high = std::max(high, more.high);
  }
  elements += more.elements, zeros += more.zeros;
  nans += more.nans, infinities += more.infinities;
  absolute_sum += more.absolute_sum, sum += more.sum, square_sum += more.square_sum;
  before_sum += more.before_sum, most_moved = std::max(most_moved, more.most_moved);
  if (units.size() < more.units.size()) units.resize(more.units.size());
  for (std::size_t u = 0; u < more.units.size(); ++u) {
    units[u].count += more.units[u].count, units[u].active += more.units[u].active;
    units[u].sum += more.units[u].sum, units[u].square_sum += more.units[u].square_sum;
  }
  return *this;
}

TensorFacts facts_of(std::span<const float> values, double scale) {
  TensorFacts facts;
  facts.elements = static_cast<std::int64_t>(values.size());
  const auto factor = static_cast<float>(scale);
  float low = kLargestNumber, high = -kLargestNumber;
  for (std::size_t from = 0; from < values.size(); from += kFactBlock) {
    const std::size_t to = std::min(values.size(), from + kFactBlock);
    FactLanes lanes;
    std::size_t at = from;
    for (; at + kFactLanes <= to; at += kFactLanes) lanes.take(values.data() + at, factor);
    if (at < to) {
      // Zeros fill up the last lanes, and are not counted.
      Lanes rest{};
      std::copy(values.data() + at, values.data() + to, rest.begin());
      FactLanes last;
      last.take(rest.data(), factor);
      for (std::size_t l = to - at; l < kFactLanes; ++l) last.zeros[l] = 0;
      for (std::size_t l = 0; l < to - at; ++l)
        low = std::min(low, last.low[l]), high = std::max(high, last.high[l]);
      last.add_to(facts);
    }
    lanes.add_to(facts);
    low = std::min(low, *std::min_element(lanes.low.begin(), lanes.low.end()));
    high = std::max(high, *std::max_element(lanes.high.begin(), lanes.high.end()));
  }
  if (facts.numbers() > 0) facts.low = low, facts.high = high;
  return facts;
}

TensorFacts update_facts(std::span<const float> before, std::span<const float> after) {
  constexpr float kFloor = 1e-3f;
  TensorFacts facts;
  std::array<float, kFactBlock> moved{};
  float most = 0;
  for (std::size_t from = 0; from < before.size(); from += kFactBlock) {
    const std::size_t count = std::min(kFactBlock, before.size() - from);
    for (std::size_t i = 0; i < count; ++i) moved[i] = after[from + i] - before[from + i];
    const TensorFacts weights = facts_of(before.subspan(from, count));
    facts += facts_of({moved.data(), count});
    facts.before_sum += weights.absolute_sum;
    for (std::size_t i = 0; i < count; ++i)
      most = std::max(most, std::fabs(moved[i]) / (kFloor + std::fabs(before[from + i])));
  }
  facts.most_moved = static_cast<double>(most);
  return facts;
}

std::vector<UnitFacts> unit_facts(std::span<const float> values, std::int64_t units,
                                  std::int64_t inner, const ActiveRange& range) {
  std::vector<UnitFacts> all(static_cast<std::size_t>(units));
  const auto n = static_cast<std::size_t>(inner);
  if (all.empty() || n == 0) return all;
  for (std::size_t from = 0; from + all.size() * n <= values.size(); from += all.size() * n)
    for (std::size_t u = 0; u < all.size(); ++u) {
      UnitFacts& unit = all[u];
      const float* const own = values.data() + from + u * n;
      double active = 0, sum = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double x = static_cast<double>(own[i]);
        active += own[i] > range.above && own[i] < range.below ? 1 : 0;
        sum += x;
        squares += x * x;
      }
      unit.count += static_cast<double>(n);
      unit.active += active;
      unit.sum += sum, unit.square_sum += squares;
    }
  return all;
}

}  // namespace trainyard
