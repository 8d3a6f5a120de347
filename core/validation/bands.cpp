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
constexpr int kOfAGroup = 6;             // most neighbours of one group; more of a group say little
constexpr std::size_t kNamed = 5;
constexpr double kPromised = 0.9;  // share of the rows that must be inside their band
constexpr double kCovered = 0.91;  // share of the rows from which widths are computed; slightly
                                   // more than promised
constexpr double kShrinks[] = {0.3, 0.5, 0.7, 0.85};  // candidates for the weight of all rows
                                                      // against the neighbours
constexpr double kWithin = 0.98;    // share of the rows with a row of another source nearer than
                                    // `farthest`
constexpr double kUnchecked = 1.2;  // factor for each part that no row has, applied at most twice
// A quantile is computed if the rows of a kind are of at least this many groups. With fewer groups
// the errors are assumed to be normal, with Student's factor for 9 of 10, by degrees of freedom.
constexpr int kEnoughGroups = 10;
constexpr double kStudent[kEnoughGroups - 1] = {6.314, 2.920, 2.353, 2.132, 2.015,
                                                1.943, 1.895, 1.860, 1.833};
constexpr double kInside = 1 + 1e-9;  // makes the row that determines a width lie inside it despite
                                      // rounding
constexpr double kNearlyHeld = 0.85;  // share of the rows inside that differs from the promise only
                                      // by chance

RowKind kind_of(bool memory, bool routed) {
  return memory ? RowKind::Memory : routed ? RowKind::Routed : RowKind::Dense;
}

// Returns the factor by which bands must be wider to contain that share: a quantile of errors over
// half-widths.
double quantile_of(const std::vector<double>& scores, const std::vector<double>& weights,
                   double share) {
  std::vector<double> logs;  // weighted_quantile() takes |exp(x) - 1|
  for (const double score : scores) logs.push_back(std::log1p(score));
  return weighted_quantile(logs, weights, share);
}

// Returns the same for too few groups for a quantile.
double student_of(const std::vector<double>& scores, const std::vector<double>& weights,
                  int groups) {
  double squares = 0, weight = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    squares += weights[i] * scores[i] * scores[i], weight += weights[i];
  return kStudent[std::max(0, groups - 2)] * std::sqrt((1 + 1.0 / groups) * squares / weight);
}

double share_inside(const std::vector<double>& scores, const std::vector<double>& weights) {
  double held = 0, weight = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    weight += weights[i];
    if (scores[i] <= kInside) held += weights[i];
  }
  return weight > 0 ? held / weight : 0;
}

}  // namespace

std::string_view to_string(RowKind kind) {
  constexpr std::string_view kNames[] = {"dense models", "routed experts", "memory"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct ValidatedRows::Near {
  std::size_t row = 0;
  double distance = 0;
  double weight = 0;
};

ValidatedRows::ValidatedRows(std::vector<ValidatedRow> rows) : rows_(std::move(rows)) {
  std::map<std::pair<bool, std::string>, int> groups;
  for (const ValidatedRow& row : rows_) ++groups[{row.memory, row.group}];
  for (const ValidatedRow& row : rows_) weights_.push_back(1.0 / groups[{row.memory, row.group}]);
  std::vector<std::vector<Near>> others;
  for (const ValidatedRow& row : rows_)
    others.push_back(near(row.features, row.memory, row.source));
  for (const bool memory : {false, true}) scopes_[memory ? 1 : 0] = measure(memory, others);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double error = std::abs(rows_[i].log_error);
    const Scope& scope = scopes_[rows_[i].memory ? 1 : 0];
    scores_.push_back(others[i].empty() ? 0 : error / half_width(others[i], scope));
  }
  for (const RowKind kind : {RowKind::Dense, RowKind::Routed, RowKind::Memory})
    checks_[static_cast<std::size_t>(kind)] = measure(kind);
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

// Returns the error of the neighbours, weighted by nearness and drawn towards the error of all
// rows.
double ValidatedRows::spread(const std::vector<Near>& near, const Scope& scope) const {
  double sum = 0, weight = 0;
  for (const Near& one : near) {
    sum += one.weight * std::abs(rows_[one.row].log_error);
    weight += one.weight;
  }
  if (!(weight > 0)) return scope.typical;
  return (1 - scope.shrink) * sum / weight + scope.shrink * scope.typical;
}

// Returns the half-width as a logarithm before it is stretched for its kind; it is wider outside
// the rows. `near` must not be empty.
double ValidatedRows::half_width(const std::vector<Near>& near, const Scope& scope) const {
  return spread(near, scope) * scope.widen * std::max(1.0, near.front().distance / scope.farthest);
}

KindCheck ValidatedRows::measure(RowKind kind) const {
  std::map<std::string, int> groups, sources;
  std::vector<std::size_t> mine;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (kind_of(rows_[i].memory, rows_[i].routed) != kind) continue;
    mine.push_back(i);
    ++groups[rows_[i].group], ++sources[rows_[i].source];
  }
  KindCheck check;
  check.rows = static_cast<int>(mine.size());
  check.groups = static_cast<int>(groups.size());
  check.sources = static_cast<int>(sources.size());
  if (mine.empty()) return check;
  std::vector<double> scores, weights;
  for (const std::size_t i : mine) {
    scores.push_back(scores_[i]);
    weights.push_back(1.0 / groups[rows_[i].group]);
  }
  const bool enough = check.groups >= kEnoughGroups;
  check.held = share_inside(scores, weights);
  const double needed =
      enough ? quantile_of(scores, weights, kCovered) : student_of(scores, weights, check.groups);
  // A kind whose rows are nearly all inside has narrower bands than the rows of all kinds give it.
  if (enough || needed > kInside) check.stretch = needed;
  check.validated = enough && check.held >= kNearlyHeld;
  return check;
}

// Widens the band where too few of the rows nearby were inside their own bands.
void ValidatedRows::hold_against_near(Band& band, const std::vector<Near>& near) const {
  std::vector<double> scores, weights;
  for (const Near& one : near) {
    scores.push_back(scores_[one.row]);
    weights.push_back(one.weight);
  }
  const KindCheck& kind = check(band.kind);
  band.near = static_cast<int>(near.size());
  band.near_held = share_inside(scores, weights);
  band.stretch = kind.stretch;
  const bool held = band.near_held >= kNearlyHeld;
  if (!held) band.stretch = std::max(band.stretch, quantile_of(scores, weights, kPromised));
  band.validated = held && kind.validated;
}

ValidatedRows::Scope ValidatedRows::measure(bool memory,
                                            const std::vector<std::vector<Near>>& others) const {
  std::vector<std::size_t> mine;
  std::vector<double> weights, errors;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].memory != memory) continue;
    mine.push_back(i);
    weights.push_back(weights_[i]);
    errors.push_back(std::abs(rows_[i].log_error));
  }
  // weighted_quantile() takes |exp(x) - 1|.
  const auto quantile = [&](std::vector<double> values, double share) {
    for (double& value : values) value = std::log1p(value);
    return weighted_quantile(values, weights, share);
  };
  Scope scope;
  if (mine.empty()) return scope;
  scope.typical = std::max(quantile(errors, 0.5), 1e-4);
  std::vector<double> distances;
  for (const std::size_t i : mine)
    distances.push_back(others[i].empty() ? 0 : others[i].front().distance);
  double least = std::numeric_limits<double>::infinity();
  Scope best = scope;
  for (const double shrink : kShrinks) {
    scope.shrink = shrink;
    std::vector<double> spreads, scores;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      spreads.push_back(spread(others[mine[i]], scope));
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
  band.kind = kind_of(memory, routes(run));
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
  band.outside = others.front().distance > scope.farthest || !band.unchecked.empty();
  hold_against_near(band, others);
  const double half = half_width(others, scope) * band.stretch *
                      std::pow(kUnchecked, std::min<double>(2, std::size(band.unchecked)));
  band.low = std::expm1(-half), band.high = std::expm1(half);
  band.basis = fmt::format(
      "90 % range from the {} most similar published runs ({} first), leaving out the source of "
      "each",
      others.size(), band.nearest.front().id);
  if (band.stretch > 1 + 1e-9)
    band.basis += fmt::format(", {:.1f} times as wide because it held too few runs like this one",
                              band.stretch);
  return band;
}

Band time_band(const Workload& work, const StepEstimate& step, int blanks) {
  return validated_rows().band(features(work, step, blanks), parts_of(work), false);
}

Band memory_band(const Workload& work, const StepEstimate& step, int blanks) {
  return validated_rows().band(features(work, step, blanks), parts_of(work), true);
}

}  // namespace trainyard
