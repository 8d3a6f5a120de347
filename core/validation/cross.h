// Rows predicted with parameters that have not seen their source, and with three rows of it: what
// a newcomer's plan may expect before and after `trainyard calibrate --rows`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/validation/fit.h"
#include "core/validation/row_scenario.h"

namespace trainyard {

/// Rows as the fit takes them: each group of a metric weighs 1, rows that are not tunable 0;
/// sources are numbered by name.
struct RowFit {
  explicit RowFit(const RowSet&);
  std::vector<FitRow> rows;
  std::vector<std::string> sources;
  Predict predict;  // of the set's rows, which must outlive it
};

/// How a handful of a user's own rows move the parameters: each group of a metric weighs 1, and all
/// parameters are held near `prior`, more loosely than when they were fitted to everybody's.
FitOptions calibration_options(const Parameters& prior, int threads);

/// Three step times that spread over a source: of its groups in order of name the first, middle and
/// last, of each the row in the middle by measured time; where there are fewer groups, from the
/// least, the middle and the largest sixth of the rows. Nothing where it has fewer than six.
std::optional<std::array<std::size_t, 3>> three_rows(const RowSet&, const std::string& source);

struct CrossReport {
  FitResult refit;                                // of all sources
  std::vector<double> log_errors;                 // by row, its source left out
  std::vector<std::optional<double>> calibrated;  // the same after three of its rows, for the
                                                  // others
};
CrossReport cross_validate_rows(const RowSet&, const Parameters& start, int threads);

}  // namespace trainyard
