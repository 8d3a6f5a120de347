// Predictions held against measured rows: what `trainyard validate` prints and the gallery shows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/validation/bands.h"
#include "core/validation/fit.h"
#include "core/validation/row_scenario.h"

namespace trainyard {

struct RowVerdict {
  std::size_t row = 0;                      // index into RowSet::rows
  double predicted = 0, low = 0, high = 0;  // in the unit of `measured`
  double error = 0;                         // predicted / measured - 1
  std::optional<double> cross_error;        // with its source left out
  std::optional<double> calibrated_error;   // the same after three rows of its source
  std::string explanation;  // of the worst: what it is made of, what would have to be true
};

/// Of one metric, source or set; groups weighted equally.
struct Score {
  std::string metric;  // "time", "memory"
  std::string name;    // "trust A and B, clean", "foundry"
  int rows = 0, groups = 0;
  double mean = 0, median = 0, p90 = 0, max = 0, inside_band = 0;  // shares
  double bias = 0;  // of the mean logarithm of predicted over measured, as a share
};

struct Validation {
  std::vector<RowVerdict> rows;
  std::vector<Score> by_metric, by_source;
  std::vector<Score> cross, calibrated;  // empty without --cross
  std::optional<double> kendall;         // mean over groups
  double mean_half_width = 0;            // of the bands of rows that count, groups equal
  // With `cross`: the same of predictions with the row's source left out.
  std::optional<double> cross_kendall;
  double cross_half_width = 0;
  FitResult refit;
  std::vector<ValidatedRow> residuals;  // as bands are drawn from
};

struct ValidateOptions {
  bool cross = false;
  Parameters parameters{};
  int threads = 2;
  int explained = 8;  // of the worst rows that count
};
/// The same whatever the number of threads.
Validation validate(const RowSet&, const ValidateOptions&);

/// Of rows by index into RowSet::rows and their relative errors. Which rows one score is of is the
/// caller's.
Score score_of(std::string metric, std::string name, const RowSet&, const std::vector<RowVerdict>&,
               const std::vector<std::size_t>& which);
/// Scores of the usual sets of rows: by metric and kind, by source.
std::vector<Score> metric_scores(const RowSet&, const std::vector<RowVerdict>&);
std::vector<Score> source_scores(const RowSet&, const std::vector<RowVerdict>&);
std::optional<double> mean_kendall(const RowSet&, const std::vector<RowVerdict>&);
/// Of the bands of rows of a metric that count, as a share of the value, groups equal.
double mean_half_width(const RowSet&, const std::vector<RowVerdict>&, std::string_view metric);
/// Prediction, error and band of a row; the band leaves the row's own source out.
RowVerdict verdict_of(const PreparedRow&, double predicted, const StepEstimate&,
                      const ValidatedRows&);
/// Fills what `cross` promises.
void add_cross(const RowSet&, const ValidateOptions&, Validation&);
/// "time" or "memory".
std::string_view metric_name(RowMetric);

/// In words: what the prediction is made of, and which one blank setting or named parameter would
/// bring it to what was measured.
std::string explain(const PreparedRow&, const Parameters&);

}  // namespace trainyard
