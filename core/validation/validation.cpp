#include "core/validation/validation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <numeric>
#include <thread>

namespace trainyard {
namespace {

using Filter = std::function<bool(const PreparedRow&)>;

// Calls work(i) for each i on several threads; each call must write only to its own places.
void each(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failed;
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !stop; i = next++) try {
        work(i);
      } catch (...) {
        if (!stop.exchange(true)) failed = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(run);
    run();
  }
  if (failed) std::rethrow_exception(failed);
}

std::vector<std::size_t> chosen(const RowSet& set, const Filter& filter) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < set.rows.size(); ++i)
    if (filter(set.rows[i])) which.push_back(i);
  return which;
}

// Returns weights by which each group counts 1 in total.
std::vector<double> group_weights(const RowSet& set, const std::vector<std::size_t>& which) {
  std::map<std::string, int> sizes;
  for (const std::size_t i : which) ++sizes[set.rows[i].row.group];
  std::vector<double> weights;
  for (const std::size_t i : which) weights.push_back(1.0 / sizes[set.rows[i].row.group]);
  return weights;
}

void explain_worst(const RowSet& set, const ValidateOptions& options, Validation& v) {
  std::vector<std::size_t> worst = chosen(set, [](const PreparedRow& r) { return r.tunable; });
  std::stable_sort(worst.begin(), worst.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(std::log1p(v.rows[a].error)) > std::abs(std::log1p(v.rows[b].error));
  });
  worst.resize(std::min(worst.size(), static_cast<std::size_t>(std::max(0, options.explained))));
  each(worst.size(), options.threads, [&](std::size_t i) {
    v.rows[worst[i]].explanation = explain(set.rows[worst[i]], options.parameters);
  });
}

}  // namespace

std::vector<Score> metric_scores(const RowSet& set, const std::vector<RowVerdict>& rows) {
  struct Set {
    std::string_view name;
    Filter filter;
  };
  const auto open = [](const PreparedRow& r) { return r.row.trust != Trust::C; };
  const Set sets[] = {
      {"trust A and B, clean", [](const PreparedRow& r) { return r.tunable; }},
      {"of these, dense", [](const PreparedRow& r) { return r.tunable && !r.routed; }},
      {"of these, routed experts", [](const PreparedRow& r) { return r.tunable && r.routed; }},
      {"of these, every setting stated",
       [](const PreparedRow& r) { return r.tunable && r.blanks().empty(); }},
      {"trust A and B, suspects with them", open},
      {"suspects alone", [&](const PreparedRow& r) { return open(r) && !r.tunable; }},
      {"trust C", [&](const PreparedRow& r) { return !open(r); }},
  };
  std::vector<Score> scores;
  for (const std::string_view metric : {"time", "memory"})
    for (const Set& one : sets) {
      const auto which = chosen(set, [&](const PreparedRow& r) {
        return metric_name(r.metric) == metric && one.filter(r);
      });
      if (!which.empty())
        scores.push_back(score_of(std::string(metric), std::string(one.name), set, rows, which));
    }
  return scores;
}

std::vector<Score> source_scores(const RowSet& set, const std::vector<RowVerdict>& rows) {
  std::map<std::pair<bool, std::string>, std::vector<std::size_t>> sources;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    const PreparedRow& r = set.rows[i];
    std::string name = r.row.source_family;
    if (r.row.trust == Trust::C)
      name += " (trust C)";
    else if (!r.row.suspect.empty())
      continue;
    sources[{metric_name(r.metric) == "memory", name}].push_back(i);
  }
  std::vector<Score> scores;
  for (const auto& [key, which] : sources)
    scores.push_back(score_of(key.first ? "memory" : "time", key.second, set, rows, which));
  return scores;
}

std::optional<double> mean_kendall(const RowSet& set, const std::vector<RowVerdict>& rows) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < set.rows.size(); ++i)
    if (set.rows[i].tunable && set.rows[i].metric == RowMetric::StepTime)
      groups[set.rows[i].row.group].push_back(i);
  double sum = 0;
  int count = 0;
  for (const auto& [name, which] : groups) {
    std::vector<double> measured, predicted;
    for (const std::size_t i : which)
      measured.push_back(set.rows[i].measured), predicted.push_back(rows[i].predicted);
    if (const auto tau = kendall_tau(measured, predicted, 0.03)) sum += *tau, ++count;
  }
  if (count == 0) return {};
  return sum / count;
}

double mean_half_width(const RowSet& set, const std::vector<RowVerdict>& rows,
                       std::string_view metric) {
  const std::vector<std::size_t> which = chosen(
      set, [&](const PreparedRow& r) { return r.tunable && metric_name(r.metric) == metric; });
  const std::vector<double> weights = group_weights(set, which);
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const RowVerdict& row = rows[which[i]];
    sum += weights[i] * (row.high - row.low) / (2 * row.predicted);
    weight += weights[i];
  }
  return weight > 0 ? sum / weight : 0;
}

RowVerdict verdict_of(const PreparedRow& row, double predicted, const StepEstimate& step,
                      const ValidatedRows& known) {
  RowVerdict verdict;
  verdict.predicted = predicted;
  verdict.error = predicted / row.measured - 1;
  const Band band = known.band(features(row.workload, step, static_cast<int>(row.blanks().size())),
                               parts_of(row.workload), metric_name(row.metric) == "memory",
                               row.row.source_family);
  verdict.low = predicted * (1 + band.low);
  verdict.high = predicted * (1 + band.high);
  return verdict;
}

std::string_view metric_name(RowMetric metric) {
  return metric == RowMetric::Memory || metric == RowMetric::MemoryTotal ? "memory" : "time";
}

Score score_of(std::string metric, std::string name, const RowSet& set,
               const std::vector<RowVerdict>& rows, const std::vector<std::size_t>& which) {
  Score score;
  score.metric = std::move(metric);
  score.name = std::move(name);
  score.rows = static_cast<int>(which.size());
  const std::vector<double> weights = group_weights(set, which);
  std::vector<double> logs;
  double weight = 0, logarithms = 0;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const RowVerdict& row = rows[which[i]];
    const double error = std::abs(row.error), measured = set.rows[which[i]].measured;
    logs.push_back(std::log1p(row.error));
    weight += weights[i];
    logarithms += weights[i] * logs.back();
    score.mean += weights[i] * error;
    score.max = std::max(score.max, error);
    if (row.low <= measured && measured <= row.high) score.inside_band += weights[i];
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

Validation validate(const RowSet& set, const ValidateOptions& options) {
  Validation v;
  v.rows.resize(set.rows.size());
  each(set.rows.size(), options.threads, [&](std::size_t i) {
    const PreparedRow& row = set.rows[i];
    v.rows[i] = verdict_of(row, predict(row, options.parameters),
                           predict_whole(row, options.parameters), validated_rows());
    v.rows[i].row = i;
  });
  v.by_metric = metric_scores(set, v.rows);
  v.by_source = source_scores(set, v.rows);
  v.kendall = mean_kendall(set, v.rows);
  v.mean_half_width = mean_half_width(set, v.rows, "time");
  if (options.cross) add_cross(set, options, v);
  explain_worst(set, options, v);
  return v;
}

}  // namespace trainyard
