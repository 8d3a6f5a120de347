// This file has what fit() minimises, in coordinates where every prior is a standard normal: the
// weighted, robust squares of log errors over the noise of a group, plus the squares of the
// coordinates.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/validation/fit_problem.h"

namespace trainyard {

/// Calls f(0) ... f(count - 1), spread over threads; each call must write only to its own places.
/// Of several errors the one with the least index is thrown.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& f);

/// A Coordinate is a parameter as the fit sees it: (log(value + offset) - centre) / spread. The
/// offset is above 0 only where 0 is a legal value, so that 0 can be reached.
struct Coordinate {
  Coordinate(Parameter, const FitOptions&);
  double of(double value) const;
  double value(double at) const;  // limited to the bounds
  Parameter parameter{};
  double offset = 0, centre = 0, spread = 1;
  double low = 0, high = 0;  // bounds, as coordinates
};

/// A FitPoint is a point in the space of coordinates, with the log error of every row there.
struct FitPoint {
  std::vector<double> at;
  Parameters parameters;
  std::vector<double> log_errors;
};

/// Derivatives of every log error with respect to every coordinate, row by row.
struct Derivatives {
  std::vector<double> of;
  std::vector<char> depends;  // whether a row depends on a coordinate; empty = not known, so all
                              // are computed
};

class LeastSquares {
 public:
  LeastSquares(std::span<const FitRow>, const Predict&, const FitOptions&);

  const std::vector<Coordinate>& coordinates() const { return coordinates_; }
  FitPoint point(const Parameters& start, int threads) const;
  FitPoint point(const FitPoint&, std::vector<double> at, int threads) const;
  double cost(const FitPoint&, std::span<const double> weights) const;
  /// Computes forward differences (backward at an upper bound) for rows of weight above 0; columns
  /// that `derivatives.depends` rules out are skipped.
  void derive(const FitPoint&, std::span<const double> weights, int threads,
              Derivatives& derivatives) const;
  /// Computes half of the Hessian (Gauss-Newton, row-major) and half of the gradient of the cost.
  void equations(const FitPoint&, std::span<const double> weights, const Derivatives&,
                 std::vector<double>& matrix, std::vector<double>& gradient) const;
  /// Makes one damped step downhill; returns false where none is found. `damping` is kept from step
  /// to step.
  bool descend(FitPoint&, std::span<const double> weights, const Derivatives&, double& damping,
               int threads) const;

 private:
  double log_error(std::size_t row, const Parameters&) const;

  std::span<const FitRow> rows_;
  const Predict& predict_;
  const FitOptions& options_;
  std::vector<Coordinate> coordinates_;
};

/// Computes the Cholesky factor of a symmetric, positive definite matrix in place; returns false
/// where the matrix is not positive definite.
bool factorise(std::vector<double>& matrix, std::size_t n);
/// Solves with that factor, in place.
void solve_factorised(const std::vector<double>& factor, std::vector<double>& x);

}  // namespace trainyard
