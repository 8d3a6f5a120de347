// This file predicts rows with parameters that were fitted without their source, and with three
// rows of it: the errors that a new user can expect before and after `trainyard calibrate --rows`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/validation/fit.h"
#include "core/validation/rows/row_scenario.h"

namespace trainyard {

/// RowFit has rows in the form for the fit: each group of a metric has weight 1 in total, rows that
/// are not tunable 0; sources are numbered in order of name.
struct RowFit {
  explicit RowFit(const RowSet&);
  std::vector<FitRow> rows;
  std::vector<std::string> sources;
  Predict predict;  // predicts rows of the set, which must outlive it
};

/// Returns options with which a few of a user's own rows change the parameters: each group of a
/// metric has weight 1, and all parameters are held near `prior`, more loosely than in the fit to
/// all published rows.
FitOptions calibration_options(const Parameters& prior, int threads);

/// Returns three step times that represent a source: the row with the median time in each of the
/// first, middle and last of its groups in order of name. Where there are fewer groups, the rows
/// are taken from the smallest, middle and largest sixth. Nothing where the source has fewer than
/// six rows.
std::optional<std::array<std::size_t, 3>> three_rows(const RowSet&, const std::string& source);

struct CrossReport {
  FitResult refit;                                // fit to all sources
  std::vector<double> log_errors;                 // by row, with its source left out
  std::vector<std::optional<double>> calibrated;  // the same after calibration with three rows of
                                                  // the source, for its other rows
};
CrossReport cross_validate_rows(const RowSet&, const Parameters& start, int threads);

}  // namespace trainyard
