#include "core/validation/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "core/validation/fit.h"

namespace trainyard {
namespace {

constexpr std::size_t kNeighbours = 32;  // rows
constexpr int kOfAGroup = 6;             // at most; the rest of a group says little more
constexpr std::size_t kNamed = 5;
constexpr double kCovered = 0.92;  // of the rows; a little more than the 9 of 10 promised
constexpr double kShrinks[] = {0.3, 0.5, 0.7, 0.85};  // weights of all rows beside the neighbours
constexpr double kWithin = 0.98;    // of the rows have another source's nearer than `farthest`
constexpr double kUnchecked = 1.2;  // wider for each part that no row has, twice at most

}  // namespace

struct ValidatedRows::Near {
  std::size_t row = 0;
  double distance = 0;
  double weight = 0;
};

ValidatedRows::ValidatedRows(std::vector<ValidatedRow> rows) : rows_(std::move(rows)) {
  std::map<std::pair<bool, std::string>, int> groups;
  for (const ValidatedRow& row : rows_) ++groups[{row.memory, row.group}];
  for (const ValidatedRow& row : rows_) weights_.push_back(1.0 / groups[{row.memory, row.group}]);
  for (const bool memory : {false, true}) scopes_[memory ? 1 : 0] = measure(memory);
}

std::vector<ValidatedRows::Near> ValidatedRows::near(const RunFeatures& run, bool memory,
                                                     const std::string& without) const {
  std::vector<Near> all;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].memory == memory && (without.empty() || rows_[i].source != without))
      all.push_back({i, distance(run, rows_[i].features, memory), 0});
  std::sort(all.begin(), all.end(), [](const Near& a, const Near& b) {
    return std::pair(a.distance, a.row) < std::pair(b.distance, b.row);
  });
  std::vector<Near> kept;
  std::map<std::string, int> of_group;
  for (const Near& one : all) {
    if (kept.size() == kNeighbours) break;
    if (++of_group[rows_[one.row].group] <= kOfAGroup) kept.push_back(one);
  }
  for (Near& one : kept) {
    const double reach = std::max(kept.back().distance, 1e-9);
    const double alike = std::exp(-2 * (one.distance / reach) * (one.distance / reach));
    one.weight = alike / std::min(of_group[rows_[one.row].group], kOfAGroup);
  }
  return kept;
}

// Error of the neighbours, the near ones counting more, drawn towards that of all.
double ValidatedRows::spread(const std::vector<Near>& near, const Scope& scope) const {
  double sum = 0, weight = 0;
  for (const Near& one : near) {
    sum += one.weight * std::abs(rows_[one.row].log_error);
    weight += one.weight;
  }
  if (!(weight > 0)) return scope.typical;
  return (1 - scope.shrink) * sum / weight + scope.shrink * scope.typical;
}

ValidatedRows::Scope ValidatedRows::measure(bool memory) const {
  std::vector<std::size_t> mine;
  std::vector<double> weights, errors;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].memory != memory) continue;
    mine.push_back(i);
    weights.push_back(weights_[i]);
    errors.push_back(std::abs(rows_[i].log_error));
  }
  // weighted_quantile() speaks of |exp(x) - 1|.
  const auto quantile = [&](std::vector<double> values, double share) {
    for (double& value : values) value = std::log1p(value);
    return weighted_quantile(values, weights, share);
  };
  Scope scope;
  if (mine.empty()) return scope;
  scope.typical = std::max(quantile(errors, 0.5), 1e-4);
  std::vector<std::vector<Near>> others;
  std::vector<double> distances;
  for (const std::size_t i : mine) {
    others.push_back(near(rows_[i].features, memory, rows_[i].source));
    distances.push_back(others.back().empty() ? 0 : others.back().front().distance);
  }
  double least = std::numeric_limits<double>::infinity();
  Scope best = scope;
  for (const double shrink : kShrinks) {
    scope.shrink = shrink;
    std::vector<double> spreads, scores;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      spreads.push_back(spread(others[i], scope));
      scores.push_back(errors[i] / spreads[i]);
    }
    scope.widen = quantile(scores, kCovered);
    double width = 0;
    for (std::size_t i = 0; i < mine.size(); ++i)
      width += weights[i] * std::sinh(scope.widen * spreads[i]);
    if (width < least) least = width, best = scope;
  }
  scope = best;
  scope.farthest = std::max(quantile(distances, kWithin), 1e-9);
  return scope;
}

Band ValidatedRows::band(const RunFeatures& run, const std::vector<std::string>& parts, bool memory,
                         const std::string& without) const {
  const Scope& scope = scopes_[memory ? 1 : 0];
  const std::vector<Near> others = near(run, memory, without);
  Band band;
  if (others.empty()) {
    band.basis = "no published row to hold it against";
    band.outside = true;
    return band;
  }
  for (const std::string& part : parts) {
    const bool known = std::any_of(rows_.begin(), rows_.end(), [&](const ValidatedRow& row) {
      return row.memory == memory && std::binary_search(row.parts.begin(), row.parts.end(), part);
    });
    if (!known) band.unchecked.push_back(part);
  }
  for (std::size_t i = 0; i < std::min(kNamed, others.size()); ++i)
    band.nearest.push_back({rows_[others[i].row].id, others[i].distance});
  const double beyond = others.front().distance / scope.farthest;
  band.outside = beyond > 1 || !band.unchecked.empty();
  const double half = spread(others, scope) * scope.widen * std::max(1.0, beyond) *
                      std::pow(kUnchecked, std::min<double>(2, std::size(band.unchecked)));
  band.low = std::expm1(-half), band.high = std::expm1(half);
  band.basis = fmt::format(
      "errors of the {} nearest published rows ({} first), each predicted without its source, "
      "widened to hold 9 of 10",
      others.size(), band.nearest.front().id);
  return band;
}

Band time_band(const Workload& work, const StepEstimate& step, int blanks) {
  return validated_rows().band(features(work, step, blanks), parts_of(work), false);
}

Band memory_band(const Workload& work, const StepEstimate& step, int blanks) {
  return validated_rows().band(features(work, step, blanks), parts_of(work), true);
}

}  // namespace trainyard
