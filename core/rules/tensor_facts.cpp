#include "core/rules/tensor_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/base/vectorised.h"

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
  Lanes sizes{}, zeros{}, sum{}, squares{}, low, high;
  FactLanes() {
    low.fill(kLargestNumber);
    high.fill(-kLargestNumber);
  }
};

struct UpdateLanes {
  Lanes moved{}, before{}, most{}, kept{};
};

// Calls f(lane, element) for all elements: whole vectors of lanes, then the first lanes alone.
template <class F>
inline __attribute__((always_inline)) void each_lane(std::size_t count, F&& f) {
  std::size_t at = 0;
  for (; at + kFactLanes <= count; at += kFactLanes)
    for (std::size_t l = 0; l < kFactLanes; ++l) f(l, at + l);
  for (std::size_t l = 0; at + l < count; ++l) f(l, at + l);
}

TRAINYARD_VECTORISED void take_sizes(const float* from, std::size_t count, float scale,
                                     FactLanes& into) {
  Lanes sizes{}, zeros{};
  each_lane(count, [&](std::size_t l, std::size_t i) {
    const float x = from[i] * scale;
    sizes[l] += std::fabs(x);
    zeros[l] += x == 0 ? 1.0f : 0.0f;
  });
  into.sizes = sizes, into.zeros = zeros;
}

TRAINYARD_VECTORISED void take_moments(const float* from, std::size_t count, float scale,
                                       FactLanes& into) {
  Lanes sum{}, squares{}, low = into.low, high = into.high;
  each_lane(count, [&](std::size_t l, std::size_t i) {
    const float x = from[i] * scale;
    sum[l] += x;
    squares[l] += x * x;
    low[l] = x < low[l] ? x : low[l];
    high[l] = x > high[l] ? x : high[l];
  });
  into.sum = sum, into.squares = squares, into.low = low, into.high = high;
}

// An element of size s that moves by d moves by d / (0.001 + s) of its size.
TRAINYARD_VECTORISED void take_update(const float* before, const float* after, std::size_t count,
                                      UpdateLanes& into) {
  constexpr float kFloor = 1e-3f;
  Lanes moved{}, sizes{}, kept{}, most = into.most;
  each_lane(count, [&](std::size_t l, std::size_t i) {
    const float by = std::fabs(after[i] - before[i]), size = std::fabs(before[i]);
    moved[l] += by;
    sizes[l] += size;
    kept[l] += ((by == 0) & (size > 0)) ? 1.0f : 0.0f;
    const float share = by / (kFloor + size);
    most[l] = share > most[l] ? share : most[l];
  });
  into.moved = moved, into.before = sizes, into.most = most, into.kept = kept;
}

// A sum of sizes that is finite has only finite numbers in it; else they are counted one by one.
template <class Value>
void count_not_finite(double sizes, std::size_t count, Value&& value, TensorFacts& facts) {
  if (std::isfinite(sizes)) return;
  for (std::size_t i = 0; i < count; ++i) {
    facts.nans += std::isnan(value(i)) ? 1 : 0;
    facts.infinities += std::isinf(value(i)) ? 1 : 0;
  }
}

TRAINYARD_VECTORISED void add_active(const float* row, std::size_t units, const ActiveRange& range,
                                     std::uint32_t* active) {
  const float above = range.above, below = range.below;
  for (std::size_t u = 0; u < units; ++u)
    active[u] += static_cast<std::uint32_t>((row[u] > above) & (row[u] < below));
}

TRAINYARD_VECTORISED std::uint32_t count_active(const float* own, std::size_t count,
                                                const ActiveRange& range) {
  const float above = range.above, below = range.below;
  std::uint32_t active = 0;
  for (std::size_t i = 0; i < count; ++i)
    active += static_cast<std::uint32_t>((own[i] > above) & (own[i] < below));
  return active;
}

TRAINYARD_VECTORISED void add_moments(const float* row, std::size_t units, double* sum,
                                      double* squares) {
  for (std::size_t u = 0; u < units; ++u) {
    const auto x = static_cast<double>(row[u]);
    sum[u] += x;
    squares[u] += x * x;
  }
}

// Calls f(unit, its numbers) for all runs of numbers of one unit, and g(numbers of one of each)
// where units lie beside each other.
template <class Runs, class Rows>
void each_unit(std::span<const float> values, std::size_t units, std::size_t inner, Runs&& f,
               Rows&& g) {
  const std::size_t each = units * inner;
  for (std::size_t from = 0; each > 0 && from + each <= values.size(); from += each) {
    if (inner == 1) {
      g(values.data() + from);
      continue;
    }
    for (std::size_t u = 0; u < units; ++u) f(u, values.data() + from + u * inner);
  }
}

// Units of which each has as many numbers as all together divided by the number of units.
std::vector<UnitFacts> counted_units(std::span<const float> values, std::size_t units,
                                     std::size_t inner) {
  UnitFacts one;
  if (units * inner > 0) {
    const std::size_t blocks = values.size() / (units * inner);
    one.count = static_cast<double>(blocks * inner);
  }
  return std::vector<UnitFacts>(units, one);
}

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

TensorFacts facts_of(std::span<const float> values, double scale, FactKinds kinds) {
  TensorFacts facts;
  facts.elements = static_cast<std::int64_t>(values.size());
  const auto factor = static_cast<float>(scale);
  FactLanes lanes;
  for (std::size_t from = 0; from < values.size(); from += kFactBlock) {
    const std::size_t count = std::min(kFactBlock, values.size() - from);
    const float* const own = values.data() + from;
    take_sizes(own, count, factor, lanes);
    const double sizes = sum_of_lanes(lanes.sizes);
    facts.absolute_sum += sizes;
    facts.zeros += static_cast<std::int64_t>(sum_of_lanes(lanes.zeros));
    count_not_finite(sizes, count, [&](std::size_t i) { return own[i] * factor; }, facts);
    if (kinds == FactKinds::Sizes) continue;
    take_moments(own, count, factor, lanes);
    facts.sum += sum_of_lanes(lanes.sum);
    facts.square_sum += sum_of_lanes(lanes.squares);
  }
  if (kinds == FactKinds::All && facts.numbers() > 0) {
    facts.low = *std::min_element(lanes.low.begin(), lanes.low.end());
    facts.high = *std::max_element(lanes.high.begin(), lanes.high.end());
  }
  return facts;
}

TensorFacts update_facts(std::span<const float> before, std::span<const float> after) {
  TensorFacts facts;
  facts.elements = static_cast<std::int64_t>(before.size());
  UpdateLanes lanes;
  for (std::size_t from = 0; from < before.size(); from += kFactBlock) {
    const std::size_t count = std::min(kFactBlock, before.size() - from);
    const float *const old = before.data() + from, *const now = after.data() + from;
    take_update(old, now, count, lanes);
    const double moved = sum_of_lanes(lanes.moved);
    facts.absolute_sum += moved;
    facts.before_sum += sum_of_lanes(lanes.before);
    facts.zeros += static_cast<std::int64_t>(sum_of_lanes(lanes.kept));
    count_not_finite(moved, count, [&](std::size_t i) { return now[i] - old[i]; }, facts);
  }
  facts.most_moved = static_cast<double>(*std::max_element(lanes.most.begin(), lanes.most.end()));
  return facts;
}

std::vector<UnitFacts> active_units(std::span<const float> values, std::int64_t units,
                                    std::int64_t inner, const ActiveRange& range) {
  const auto count = static_cast<std::size_t>(units), each = static_cast<std::size_t>(inner);
  std::vector<std::uint32_t> active(count);
  each_unit(
      values, count, each,
      [&](std::size_t u, const float* own) { active[u] += count_active(own, each, range); },
      [&](const float* row) { add_active(row, count, range, active.data()); });
  std::vector<UnitFacts> all = counted_units(values, count, each);
  for (std::size_t u = 0; u < count; ++u) all[u].active = active[u];
  return all;
}

std::vector<UnitFacts> unit_moments(std::span<const float> values, std::int64_t units,
                                    std::int64_t inner) {
  const auto count = static_cast<std::size_t>(units), each = static_cast<std::size_t>(inner);
  std::vector<double> sum(count), squares(count);
  each_unit(
      values, count, each,
      [&](std::size_t u, const float* own) {
        for (std::size_t i = 0; i < each; ++i) {
          const auto x = static_cast<double>(own[i]);
          sum[u] += x;
          squares[u] += x * x;
        }
      },
      [&](const float* row) { add_moments(row, count, sum.data(), squares.data()); });
  std::vector<UnitFacts> all = counted_units(values, count, each);
  for (std::size_t u = 0; u < count; ++u) all[u].sum = sum[u], all[u].square_sum = squares[u];
  return all;
}

}  // namespace trainyard
