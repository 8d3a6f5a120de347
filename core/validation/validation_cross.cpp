#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/validation/cluster_factor.h"
#include "core/validation/cross.h"
#include "core/validation/least_squares.h"
#include "core/validation/validation.h"

namespace trainyard {
namespace {

constexpr std::size_t kFewestOfGroup = 2 * kFactorRows;  // rows of a group that may give three

// Returns the rows from which bands are computed: those that count, predicted with parameters
// fitted without their source.
std::vector<ValidatedRow> residuals_of(const RowSet& set, const CrossReport& report,
                                       const ValidateOptions& options) {
  std::vector<ValidatedRow> all(set.rows.size()), kept;
  for_each_index(set.rows.size(), options.threads, [&](std::size_t i) {
    const PreparedRow& row = set.rows[i];
    if (!row.tunable) return;
    ValidatedRow& out = all[i];
    out.id = row.row.id;
    out.group = row.row.group;
    out.source = row.row.source_family;
    out.features = features(row.workload, predict_whole(row, options.parameters),
                            static_cast<int>(row.blanks().size()));
    out.log_error = report.log_errors[i];
    out.memory = metric_name(row.metric) == "memory";
    out.routed = row.routed;
    out.parts = parts_of(row.workload);
  });
  for (ValidatedRow& row : all)
    if (!row.id.empty()) kept.push_back(std::move(row));
  return kept;
}

// Predicts the rows of each group by the fit without its source, times the factor that one to three
// of its own rows give; those three are scored in no case, so that all scores are of the same rows.
std::vector<Score> scores_by_factor(const RowSet& set, const std::vector<double>& log_errors,
                                    const std::vector<ValidatedRow>& residuals,
                                    const std::vector<RowVerdict>& crossed) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < set.rows.size(); ++i)
    if (set.rows[i].tunable && set.rows[i].metric == RowMetric::StepTime)
      groups[set.rows[i].row.group].push_back(i);
  std::erase_if(groups, [](const auto& group) { return group.second.size() < kFewestOfGroup; });
  std::vector<Score> scores;
  for (const bool routed : {false, true})
    for (std::size_t given = 0; given <= kFactorRows; ++given) {
      std::vector<RowVerdict> after = crossed;
      std::vector<std::uint32_t> which;
      for (const auto& [name, rows] : groups) {
        const PreparedRow& any = set.rows[rows.front()];
        if (any.routed != routed) continue;
        const std::vector<std::size_t> kept = rows_given_back(set, rows, kFactorRows);
        StepFactor steps;
        if (given > 0) {
          std::vector<double> own;
          for (const std::size_t i : rows_given_back(set, rows, given))
            own.push_back(log_errors[i]);
          steps = cluster_factor(own, error_spread(residuals, routed, any.row.source_family));
        }
        for (const std::size_t i : rows) {
          if (std::find(kept.begin(), kept.end(), i) != kept.end()) continue;
          RowVerdict& verdict = after[i];
          verdict = narrowed(verdict, steps.narrowing);
          for (double* value : {&verdict.predicted, &verdict.low, &verdict.high})
            *value *= steps.factor;
          verdict.error = verdict.predicted / set.rows[i].measured - 1;
          which.push_back(static_cast<std::uint32_t>(i));
        }
      }
      if (which.empty()) continue;
      const std::string kind = routed ? "routed" : "dense";
      scores.push_back(scored(set, after)
                           .score_of("time",
                                     given == 0 ? kind
                                                : fmt::format("{}, after {} row{} of its group",
                                                              kind, given, given == 1 ? "" : "s"),
                                     which));
    }
  return scores;
}

}  // namespace

void add_cross(const RowSet& set, const ValidateOptions& options, Validation& v) {
  const CrossReport report = cross_validate_rows(set, options.parameters, options.threads);
  v.refit = report.refit;
  v.residuals = residuals_of(set, report, options);
  const ValidatedRows known(v.residuals);
  std::vector<RowVerdict> crossed(v.rows.size()), after;
  for_each_index(v.rows.size(), options.threads, [&](std::size_t i) {
    const PreparedRow& row = set.rows[i];
    crossed[i] = verdict_of(row, row.measured * std::exp(report.log_errors[i]),
                            predict_whole(row, options.parameters), known);
    crossed[i].row = i;
  });
  after = crossed;
  std::vector<std::uint32_t> dense, routed;
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    v.rows[i].cross_error = crossed[i].error;
    if (!report.calibrated[i]) continue;
    v.rows[i].calibrated_error = after[i].error = std::expm1(*report.calibrated[i]);
    (set.rows[i].routed ? routed : dense).push_back(static_cast<std::uint32_t>(i));
  }
  v.by_factor = scores_by_factor(set, report.log_errors, v.residuals, crossed);
  const ScoredRows before = scored(set, crossed), fitted = scored(set, after);
  v.cross = before.metric_scores();
  for (Score& score : before.source_scores()) v.cross.push_back(std::move(score));
  v.cross_kendall = before.mean_kendall();
  v.cross_half_width = before.mean_half_width();
  v.calibrated = {before.score_of("time", "dense", dense),
                  fitted.score_of("time", "dense, after three rows of the source", dense),
                  before.score_of("time", "routed", routed),
                  fitted.score_of("time", "routed, after three rows", routed)};
}

}  // namespace trainyard
