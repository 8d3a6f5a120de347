#include "core/validation/fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/validation/least_squares.h"

namespace trainyard {
namespace {

constexpr int kProbeEvery = 4;     // iterations between checks of which columns a row depends on
constexpr double kFlat = 1e-7;     // share of the cost; a smaller decrease ends the fit
constexpr int kStepsWithout = 3;   // steps of a fit without a source, the first with borrowed
                                   // derivatives
constexpr int kStepsBorrowed = 1;  // number of steps that use derivatives of the fit to all sources

std::vector<double> weights_of(std::span<const FitRow> rows) {
  std::vector<double> weights;
  for (const FitRow& row : rows) weights.push_back(row.weight);
  return weights;
}

struct Optimum {
  FitPoint point;
  Derivatives derivatives;
  int iterations = 0;
};

Optimum minimise(const LeastSquares& problem, std::span<const double> weights,
                 const Parameters& start, const FitOptions& options) {
  Optimum o{problem.point(start, options.threads), {}, 0};
  double damping = 1e-3;
  while (o.iterations < options.iterations) {
    if (o.iterations % kProbeEvery == 0) o.derivatives.depends.clear();
    problem.derive(o.point, weights, options.threads, o.derivatives);
    const double before = problem.cost(o.point, weights);
    ++o.iterations;
    if (!problem.descend(o.point, weights, o.derivatives, damping, options.threads)) break;
    if (before - problem.cost(o.point, weights) < kFlat * before) break;
  }
  o.derivatives.depends.clear();
  problem.derive(o.point, weights, options.threads, o.derivatives);
  return o;
}

FitResult result_of(const LeastSquares& problem, std::span<const double> weights,
                    const Optimum& o) {
  const std::size_t n = problem.coordinates().size();
  FitResult result{o.point.parameters, o.point.log_errors, o.point.at, {}, o.iterations};
  std::vector<double> matrix, gradient;
  problem.equations(o.point, weights, o.derivatives, matrix, gradient);
  factorise(matrix, n);
  // The posterior's variances are the diagonal of the inverse; the prior's are 1.
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> unit(n, 0);
    unit[j] = 1;
    solve_factorised(matrix, unit);
    result.determined.push_back(std::sqrt(unit[j]));
  }
  return result;
}

}  // namespace

FitResult fit(std::span<const FitRow> rows, const Predict& predict, const Parameters& start,
              const FitOptions& options) {
  const LeastSquares problem(rows, predict, options);
  const std::vector<double> weights = weights_of(rows);
  return result_of(problem, weights, minimise(problem, weights, start, options));
}

CrossResult cross_validate(std::span<const FitRow> rows, const Predict& predict,
                           const Parameters& start, const FitOptions& options) {
  const LeastSquares problem(rows, predict, options);
  const std::vector<double> weights = weights_of(rows);
  const Optimum all = minimise(problem, weights, start, options);
  CrossResult cross{result_of(problem, weights, all), std::vector<double>(rows.size()), {}};
  int sources = 0;
  for (const FitRow& row : rows) sources = std::max(sources, row.source + 1);
  cross.without.assign(static_cast<std::size_t>(sources), all.point.parameters);
  for_each_index(cross.without.size(), options.threads, [&](std::size_t source) {
    std::vector<double> kept = weights;
    bool fewer = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].source != static_cast<int>(source)) continue;
      fewer = fewer || kept[i] > 0;
      kept[i] = 0;
    }
    FitPoint point = all.point;
    Derivatives derivatives = all.derivatives;
    double damping = 1e-6;
    for (int step = 0; fewer && step < kStepsWithout; ++step) {
      const bool borrowed = step < kStepsBorrowed;
      if (!borrowed) problem.derive(point, kept, 1, derivatives);
      if (!problem.descend(point, kept, derivatives, damping, 1) && !borrowed) break;
    }
    cross.without[source] = point.parameters;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].source == static_cast<int>(source)) cross.log_errors[i] = point.log_errors[i];
  });
  return cross;
}

}  // namespace trainyard
