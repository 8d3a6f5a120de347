// This file fits named parameters to measured rows by least squares of log errors. The fit is
// robust against rows that no value explains, weights every group of rows equally, and holds each
// parameter near its prior (a maximum a posteriori estimate; Levenberg 1944, Marquardt 1963). It
// does not depend on what a row is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/validation/fit_problem.h"

namespace trainyard {

struct FitResult {
  Parameters parameters;
  std::vector<double> log_errors;  // log of predicted over measured, for every row given
  std::vector<double> moved;       // by free parameter: (log value - log prior) / spread
  std::vector<double> determined;  // by free parameter: posterior over prior spread, in (0, 1]
  int iterations = 0;
};

/// Rows of weight 0 are only scored. The result does not depend on the number of threads.
FitResult fit(std::span<const FitRow>, const Predict&, const Parameters& start, const FitOptions&);

/// CrossResult has the log error of every row, predicted with parameters fitted to all other
/// sources.
struct CrossResult {
  FitResult all;  // on every source
  std::vector<double> log_errors;
  std::vector<Parameters> without;  // by source
};
/// Each fit without a source starts from the optimum of all sources, with its derivatives.
CrossResult cross_validate(std::span<const FitRow>, const Predict&, const Parameters& start,
                           const FitOptions&);

/// Returns the weighted quantile of |exp(log error) - 1|: the least value such that this share of
/// the weight is at or below it.
double weighted_quantile(std::span<const double> values, std::span<const double> weights,
                         double share);
/// Returns the share of agreeing minus the share of disagreeing pairs. Pairs whose measured values
/// are within `apart` of each other are left out. Nothing where no pair remains.
std::optional<double> kendall_tau(std::span<const double> measured,
                                  std::span<const double> predicted, double apart);

}  // namespace trainyard
