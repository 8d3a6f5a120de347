#include <cmath>

#include "core/validation/cross.h"
#include "core/validation/least_squares.h"
#include "core/validation/validation.h"

namespace trainyard {
namespace {

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
