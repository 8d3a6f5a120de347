// A Validation compares predictions with measured rows; `trainyard validate` prints it and the
// gallery shows it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/validation/bands.h"
#include "core/validation/fit.h"
#include "core/validation/rows/row_scenario.h"

namespace trainyard {

struct RowVerdict {
  std::size_t row = 0;                      // index into RowSet::rows
  double predicted = 0, low = 0, high = 0;  // in the unit of `measured`
  double error = 0;                         // predicted / measured - 1
  std::optional<double> cross_error;        // error with its source left out of the fit
  std::optional<double> calibrated_error;   // the same after calibration with three rows of its
                                            // source
  std::string explanation;  // for the worst rows: what the prediction consists of, and what would
                            // have to be true
};

/// A Score is for one metric, source or set; groups are weighted equally.
struct Score {
  std::string metric;  // "time", "memory"
  std::string name;    // "trust A and B, clean", "foundry"
  int rows = 0, groups = 0;
  double mean = 0, median = 0, p90 = 0, max = 0, inside_band = 0;  // shares
  double bias = 0;  // mean logarithm of predicted over measured, as a share
};

struct Validation {
  std::vector<RowVerdict> rows;
  std::vector<Score> by_metric, by_source;
  std::vector<Score> cross, calibrated;  // empty without --cross
  std::optional<double> kendall;         // mean over groups
  double mean_half_width = 0;            // of the bands of rows that count, groups weighted equally
  // With `cross`, these are the same figures for predictions without the row's source.
  std::optional<double> cross_kendall;
  double cross_half_width = 0;
  FitResult refit;
  std::vector<ValidatedRow> residuals;  // rows from which bands are computed
};

struct ValidateOptions {
  bool cross = false;
  Parameters parameters{};
  int threads = 2;
  int explained = 8;  // number of the worst counted rows that are explained
};
/// The result does not depend on the number of threads.
Validation validate(const RowSet&, const ValidateOptions&);

/// Scores the rows with these indices into RowSet::rows by their relative errors. The caller
/// selects the rows.
Score score_of(std::string metric, std::string name, const RowSet&, const std::vector<RowVerdict>&,
               const std::vector<std::size_t>& which);
/// Return the scores of the usual sets of rows: by metric and kind, and by source.
std::vector<Score> metric_scores(const RowSet&, const std::vector<RowVerdict>&);
std::vector<Score> source_scores(const RowSet&, const std::vector<RowVerdict>&);
std::optional<double> mean_kendall(const RowSet&, const std::vector<RowVerdict>&);
/// Returns the mean half-width of the bands of a metric's rows that count, as a share of the value,
/// groups weighted equally.
double mean_half_width(const RowSet&, const std::vector<RowVerdict>&, std::string_view metric);
/// Returns prediction, error and band of a row; the band is computed without the row's own source.
RowVerdict verdict_of(const PreparedRow&, double predicted, const StepEstimate&,
                      const ValidatedRows&);
/// Fills the fields of Validation that ValidateOptions::cross adds.
void add_cross(const RowSet&, const ValidateOptions&, Validation&);
/// Returns "time" or "memory".
std::string_view metric_name(RowMetric);

/// Returns in words what the prediction consists of, and which single blank setting or named
/// parameter would bring it to the measured value.
std::string explain(const PreparedRow&, const Parameters&);

}  // namespace trainyard
