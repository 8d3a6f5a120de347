// Fitting named parameters to measured rows: least squares of log errors, robust against rows that
// no value explains, every group of rows weighted equally, each parameter held near its prior
// (a maximum a posteriori estimate; Levenberg 1944, Marquardt 1963). Knows nothing of what a row
// is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/validation/fit_problem.h"

namespace trainyard {

struct FitResult {
  Parameters parameters;
  std::vector<double> log_errors;  // predicted over measured, of every row given
  std::vector<double> moved;       // of each free parameter: (log value - log prior) / spread
  std::vector<double> determined;  // of each free parameter: posterior over prior spread, (0, 1]
  int iterations = 0;
};

/// Rows of weight 0 are only scored. The same result whatever the number of threads.
FitResult fit(std::span<const FitRow>, const Predict&, const Parameters& start, const FitOptions&);

/// Log error of every row, predicted with the parameters fitted on all other sources.
struct CrossResult {
  FitResult all;  // on every source
  std::vector<double> log_errors;
  std::vector<Parameters> without;  // by source
};
/// Each fit without a source starts from the optimum of all, with its derivatives.
CrossResult cross_validate(std::span<const FitRow>, const Predict&, const Parameters& start,
                           const FitOptions&);

/// Of |exp(log error) - 1| with weights: the least value that so much of the weight is at or below.
double weighted_quantile(std::span<const double> values, std::span<const double> weights,
                         double share);
/// Share of agreeing minus share of disagreeing pairs; pairs whose measured values are within
/// `apart` of each other are left out. Nothing where no pair is left.
std::optional<double> kendall_tau(std::span<const double> measured,
                                  std::span<const double> predicted, double apart);

}  // namespace trainyard
