#include "core/validation/scored_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/validation/fit.h"

namespace trainyard {

std::uint32_t ScoredRows::Names::place(const std::string& name) {
  const auto [found, added] = places.try_emplace(name, static_cast<std::uint32_t>(names.size()));
  if (added) names.push_back(name);
  return found->second;
}

void ScoredRows::add(const PreparedRow& row, const PredictedValue& value) {
  ScoredRow scored{value};
  scored.measured = row.measured;
  scored.group = groups_.place(row.row.group);
  scored.source = sources_.place(row.row.source_family);
  scored.memory = row.metric == RowMetric::Memory || row.metric == RowMetric::MemoryTotal;
  scored.step = row.metric == RowMetric::StepTime;
  scored.tunable = row.tunable, scored.routed = row.routed;
  scored.stated = row.blanks().empty();
  scored.trusted = row.row.trust != Trust::C, scored.suspect = !row.row.suspect.empty();
  rows_.push_back(scored);
}

template <class Filter>
std::vector<std::uint32_t> ScoredRows::chosen(const Filter& filter) const {
  std::vector<std::uint32_t> which;
  for (std::uint32_t i = 0; i < rows_.size(); ++i)
    if (filter(rows_[i])) which.push_back(i);
  return which;
}

// Returns weights by which each group counts 1 in total.
std::vector<double> ScoredRows::group_weights(const std::vector<std::uint32_t>& which) const {
  std::unordered_map<std::uint32_t, int> sizes;
  for (const std::uint32_t i : which) ++sizes[rows_[i].group];
  std::vector<double> weights;
  weights.reserve(which.size());
  for (const std::uint32_t i : which) weights.push_back(1.0 / sizes[rows_[i].group]);
  return weights;
}

Score ScoredRows::score_of(std::string metric, std::string name,
                           const std::vector<std::uint32_t>& which) const {
  Score score;
  score.metric = std::move(metric);
  score.name = std::move(name);
  score.rows = static_cast<int>(which.size());
  const std::vector<double> weights = group_weights(which);
  std::vector<double> logs;
  logs.reserve(which.size());
  double weight = 0, logarithms = 0;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const ScoredRow& row = rows_[which[i]];
    const double error = std::abs(row.error);
    logs.push_back(std::log1p(row.error));
    weight += weights[i];
    logarithms += weights[i] * logs.back();
    score.mean += weights[i] * error;
    score.max = std::max(score.max, error);
    if (row.low <= row.measured && row.measured <= row.high) score.inside_band += weights[i];
  }
  if (!(weight > 0)) return score;
  score.groups = static_cast<int>(std::lround(weight));
  score.mean /= weight;
  score.inside_band /= weight;
  score.bias = std::expm1(logarithms / weight);
  score.median = weighted_quantile(logs, weights, 0.5);
  score.p90 = weighted_quantile(logs, weights, 0.9);
  return score;
}

std::vector<Score> ScoredRows::metric_scores() const {
  struct Set {
    const char* name;
    bool (*filter)(const ScoredRow&);
  };
  static constexpr Set kSets[] = {
      {"trust A and B, clean", [](const ScoredRow& r) { return r.tunable; }},
      {"of these, dense", [](const ScoredRow& r) { return r.tunable && !r.routed; }},
      {"of these, routed experts", [](const ScoredRow& r) { return r.tunable && r.routed; }},
      {"of these, every setting stated", [](const ScoredRow& r) { return r.tunable && r.stated; }},
      {"trust A and B, suspects with them", [](const ScoredRow& r) { return r.trusted; }},
      {"suspects alone", [](const ScoredRow& r) { return r.trusted && !r.tunable; }},
      {"trust C", [](const ScoredRow& r) { return !r.trusted; }},
  };
  std::vector<Score> scores;
  for (const bool memory : {false, true})
    for (const Set& one : kSets) {
      const auto which =
          chosen([&](const ScoredRow& r) { return r.memory == memory && one.filter(r); });
      if (!which.empty()) scores.push_back(score_of(memory ? "memory" : "time", one.name, which));
    }
  return scores;
}

std::vector<Score> ScoredRows::source_scores() const {
  std::map<std::pair<bool, std::string>, std::vector<std::uint32_t>> sources;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const ScoredRow& r = rows_[i];
    std::string name = sources_.names[r.source];
    if (!r.trusted)
      name += " (trust C)";
    else if (r.suspect)
      continue;
    sources[{r.memory, std::move(name)}].push_back(i);
  }
  std::vector<Score> scores;
  for (const auto& [key, which] : sources)
    scores.push_back(score_of(key.first ? "memory" : "time", key.second, which));
  return scores;
}

std::optional<double> ScoredRows::mean_kendall() const {
  std::map<std::string_view, std::vector<std::uint32_t>> groups;
  for (std::uint32_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].tunable && rows_[i].step) groups[groups_.names[rows_[i].group]].push_back(i);
  double sum = 0;
  int count = 0;
  for (const auto& [name, which] : groups) {
    std::vector<double> measured, predicted;
    for (const std::uint32_t i : which)
      measured.push_back(rows_[i].measured), predicted.push_back(rows_[i].predicted);
    if (const auto tau = kendall_tau(measured, predicted, 0.03)) sum += *tau, ++count;
  }
  if (count == 0) return {};
  return sum / count;
}

double ScoredRows::mean_half_width() const {
  const auto which = chosen([](const ScoredRow& r) { return r.tunable && !r.memory; });
  const std::vector<double> weights = group_weights(which);
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const ScoredRow& row = rows_[which[i]];
    sum += weights[i] * (row.high - row.low) / (2 * row.predicted);
    weight += weights[i];
  }
  return weight > 0 ? sum / weight : 0;
}

}  // namespace trainyard
