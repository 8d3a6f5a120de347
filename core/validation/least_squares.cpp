#include "core/validation/least_squares.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr double kStep = 0.05;      // distance of the two points of a difference, in spreads
constexpr double kOffset = 0.25;    // offset as a share of the prior, where 0 is legal
constexpr double kDampest = 1e7;    // with more damping a step would no longer move anything
constexpr double kLightest = 1e-9;  // with less damping a step would not change

}  // namespace

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& f) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(count);
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        f(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads && static_cast<std::size_t>(i) < count; ++i)
    others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

Coordinate::Coordinate(Parameter p, const FitOptions& options) : parameter(p) {
  const ParameterInfo& row = info(p);
  const double prior = std::clamp(options.prior[p], row.low, row.high);
  if (row.low <= 0) offset = kOffset * (prior > 0 ? prior : row.high / 100);
  centre = std::log(prior + offset);
  spread = row.spread * options.spread;
  low = of(row.low);
  high = of(row.high);
}

double Coordinate::of(double value) const { return (std::log(value + offset) - centre) / spread; }

double Coordinate::value(double at) const {
  const ParameterInfo& row = info(parameter);
  return std::clamp(std::exp(centre + spread * at) - offset, row.low, row.high);
}

LeastSquares::LeastSquares(std::span<const FitRow> rows, const Predict& predict,
                           const FitOptions& options)
    : rows_(rows), predict_(predict), options_(options) {
  std::vector<Parameter> free = options.free;
  if (free.empty())
    for (const ParameterInfo& row : parameter_table())
      if (!row.fitted_on.empty()) free.push_back(row.parameter);
  for (const Parameter p : free) coordinates_.emplace_back(p, options);
}

double LeastSquares::log_error(std::size_t row, const Parameters& parameters) const {
  const double error = std::log(predict_(row, parameters) / rows_[row].measured);
  if (!std::isfinite(error))
    throw Error(Error::Kind::Internal,
                "expected a measurement and a prediction above 0 of row " + std::to_string(row));
  return error;
}

FitPoint LeastSquares::point(const Parameters& start, int threads) const {
  FitPoint p;
  p.parameters = start;
  for (const Coordinate& c : coordinates_)
    p.at.push_back(std::clamp(c.of(start[c.parameter]), c.low, c.high));
  return point(p, p.at, threads);
}

FitPoint LeastSquares::point(const FitPoint& from, std::vector<double> at, int threads) const {
  FitPoint p{std::move(at), from.parameters, std::vector<double>(rows_.size())};
  for (std::size_t j = 0; j < coordinates_.size(); ++j)
    p.parameters[coordinates_[j].parameter] = coordinates_[j].value(p.at[j]);
  for_each_index(rows_.size(), threads,
                 [&](std::size_t i) { p.log_errors[i] = log_error(i, p.parameters); });
  return p;
}

// This is Huber's function: quadratic up to options.robust, linear beyond.
double LeastSquares::cost(const FitPoint& p, std::span<const double> weights) const {
  const double bend = options_.robust;
  double rows = 0, priors = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double e = std::abs(p.log_errors[i]);
    rows += weights[i] * (e <= bend ? e * e : bend * (2 * e - bend));
  }
  for (const double v : p.at) priors += v * v;
  return rows / (options_.noise * options_.noise) + priors;
}

void LeastSquares::derive(const FitPoint& p, std::span<const double> weights, int threads,
                          Derivatives& derivatives) const {
  const std::size_t columns = coordinates_.size();
  const bool known = !derivatives.depends.empty();
  derivatives.of.assign(rows_.size() * columns, 0);
  derivatives.depends.resize(rows_.size() * columns, 1);
  for_each_index(rows_.size(), threads, [&](std::size_t i) {
    if (weights[i] <= 0) return;
    Parameters shifted = p.parameters;
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t cell = i * columns + j;
      if (derivatives.depends[cell] == 0) continue;
      const Coordinate& c = coordinates_[j];
      const double step = p.at[j] + kStep > c.high ? -kStep : kStep;
      shifted[c.parameter] = c.value(p.at[j] + step);
      derivatives.of[cell] = (log_error(i, shifted) - p.log_errors[i]) / step;
      if (!known) derivatives.depends[cell] = derivatives.of[cell] != 0 ? 1 : 0;
      shifted[c.parameter] = p.parameters[c.parameter];
    }
  });
}

void LeastSquares::equations(const FitPoint& p, std::span<const double> weights,
                             const Derivatives& derivatives, std::vector<double>& matrix,
                             std::vector<double>& gradient) const {
  const std::size_t n = coordinates_.size();
  matrix.assign(n * n, 0);
  gradient = p.at;
  for (std::size_t j = 0; j < n; ++j) matrix[j * n + j] = 1;
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (weights[i] <= 0) continue;
    const double error = p.log_errors[i];
    const double pull = weights[i] / (options_.noise * options_.noise) *
                        std::min(1.0, options_.robust / std::max(std::abs(error), 1e-300));
    const double* row = derivatives.of.data() + i * n;
    used.clear();
    for (std::size_t j = 0; j < n; ++j)
      if (row[j] != 0) used.push_back(j);
    for (const std::size_t j : used) {
      gradient[j] += pull * error * row[j];
      for (const std::size_t k : used) matrix[j * n + k] += pull * row[j] * row[k];
    }
  }
}

bool LeastSquares::descend(FitPoint& p, std::span<const double> weights,
                           const Derivatives& derivatives, double& damping, int threads) const {
  const std::size_t n = coordinates_.size();
  std::vector<double> matrix, gradient;
  equations(p, weights, derivatives, matrix, gradient);
  // A coordinate that is at a bound and would leave it is kept there.
  for (std::size_t j = 0; j < n; ++j) {
    const Coordinate& c = coordinates_[j];
    if (!(p.at[j] <= c.low && gradient[j] > 0) && !(p.at[j] >= c.high && gradient[j] < 0)) continue;
    for (std::size_t k = 0; k < n; ++k) matrix[j * n + k] = matrix[k * n + j] = 0;
    matrix[j * n + j] = 1;
    gradient[j] = 0;
  }
  const double before = cost(p, weights);
  for (; damping < kDampest; damping = std::max(10 * damping, 1e-3)) {
    std::vector<double> factor = matrix, step = gradient;
    for (std::size_t j = 0; j < n; ++j) factor[j * n + j] *= 1 + damping;
    if (!factorise(factor, n)) continue;
    solve_factorised(factor, step);
    std::vector<double> at = p.at;
    for (std::size_t j = 0; j < n; ++j)
      at[j] = std::clamp(at[j] - step[j], coordinates_[j].low, coordinates_[j].high);
    FitPoint next = point(p, std::move(at), threads);
    if (!(cost(next, weights) < before)) continue;
    p = std::move(next);
    damping = std::max(damping / 10, kLightest);
    return true;
  }
  return false;
}

bool factorise(std::vector<double>& matrix, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      if (i != j) {
        matrix[i * n + j] = sum / matrix[j * n + j];
      } else {
        if (!(sum > 0)) return false;
        matrix[i * n + i] = std::sqrt(sum);
      }
    }
  }
  return true;
}

void solve_factorised(const std::vector<double>& factor, std::vector<double>& x) {
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= factor[i * n + k] * x[k];
    x[i] /= factor[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= factor[k * n + i] * x[k];
    x[i] /= factor[i * n + i];
  }
}

}  // namespace trainyard
