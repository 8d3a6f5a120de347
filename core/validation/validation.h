// A Validation compares predictions with measured rows; `trainyard validate` prints it and the
// gallery shows it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/cost/scaled.h"
#include "core/validation/bands.h"
#include "core/validation/fit.h"
#include "core/validation/rows/row_scenario.h"
#include "core/validation/scored_rows.h"

namespace trainyard {

struct RowVerdict : PredictedValue {
  std::size_t row = 0;                     // index into RowSet::rows
  std::optional<double> cross_error;       // error with its source left out of the fit
  std::optional<double> calibrated_error;  // the same after calibration with three rows of its
                                           // source
  double implied_mfu = 0;   // share of the devices' dense peak that the measured step implies; 0 =
                            // the row is not of a step
  std::string explanation;  // for the worst rows: what the prediction consists of, and what would
                            // have to be true
};

struct Validation {
  std::vector<RowVerdict> rows;
  std::vector<Score> by_metric, by_source;
  std::vector<Score> cross, calibrated;  // empty without --cross
  std::vector<Score> by_factor;  // with --cross: after one to three rows of a group gave one factor
  std::optional<double> kendall;  // mean over groups
  double mean_half_width = 0;     // of the bands of rows that count, groups weighted equally
  // With `cross`, these are the same figures for predictions without the row's source.
  std::optional<double> cross_kendall;
  double cross_half_width = 0;
  FitResult refit;
  std::vector<ValidatedRow> residuals;  // rows from which bands are computed
};

struct ValidateOptions {
  bool cross = false;
  Parameters parameters{};
  StepFactor steps{};
  std::vector<std::string> steps_of{};  // devices whose rows have the factor; empty = all rows
  int threads = 2;
  int explained = 8;  // number of the worst counted rows that are explained
};
/// The result does not depend on the number of threads.
Validation validate(const RowSet&, const ValidateOptions&);

/// Calls its argument with each row of a table, in order. It is called twice, and must give the
/// same rows.
using RowStream = std::function<void(const std::function<void(MeasuredRow)>&)>;

struct ExplainedRow {
  PreparedRow row;
  RowVerdict verdict;
};

/// A ValidationSummary has the figures of a validation that do not grow with its rows.
struct ValidationSummary {
  std::size_t predicted = 0, skipped = 0;
  std::vector<Score> by_metric, by_source;
  std::optional<double> kendall;
  double mean_half_width = 0;
  std::vector<ExplainedRow> worst;             // those with an explanation, farthest off first
  std::map<std::string, std::size_t> reasons;  // for which rows were skipped
  std::string first_skipped, first_reason;     // an id
};
/// Holds a few rows at a time and a ScoredRow of each. The figures are those of validate().
ValidationSummary summarize_rows(const RowStream&, const ValidateOptions&);
ValidationSummary summarize_rows(const RowSet&, const Validation&);

/// The rows in the form for scores; the verdicts are parallel to the set's.
ScoredRows scored(const RowSet&, const std::vector<RowVerdict>&);
/// Returns prediction, error and band of a row; the band is computed without the row's own source.
RowVerdict verdict_of(const PreparedRow&, double predicted, const StepEstimate&,
                      const ValidatedRows&);
/// Returns the verdict with a band of this share of its logarithmic width.
RowVerdict narrowed(RowVerdict, double narrowing);
/// Fills the fields of Validation that ValidateOptions::cross adds.
void add_cross(const RowSet&, const ValidateOptions&, Validation&);
/// Returns "time" or "memory".
std::string_view metric_name(RowMetric);

/// Returns in words what the prediction consists of, and which single blank setting or named
/// parameter would bring it to the measured value.
std::string explain(const PreparedRow&, const Parameters&);

}  // namespace trainyard
