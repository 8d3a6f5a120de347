#include "core/training/sharpness.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/drawn_normal.h"

namespace trainyard {
namespace {

double inner_product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm_of(std::span<const double> a) { return std::sqrt(inner_product(a, a)); }

std::vector<double> random_direction(std::size_t elements, std::uint64_t seed) {
  std::vector<double> direction(elements);
  const Random random(seed);
  for (std::size_t i = 0; i < elements; ++i) direction[i] = drawn_normal(random, i);
  const double length = norm_of(direction);
  for (double& x : direction) x = length > 0 ? x / length : 1;
  return direction;
}

std::vector<double> moved(std::span<const double> weights, std::span<const double> direction,
                          double by) {
  std::vector<double> there(weights.begin(), weights.end());
  for (std::size_t i = 0; i < there.size(); ++i) there[i] += by * direction[i];
  return there;
}

class PowerIteration {
 public:
  PowerIteration(const GradientAt& gradient, std::span<const double> weights,
                 const SharpnessOptions& options)
      : gradient_(gradient), weights_(weights), options_(options) {
    length_ = options.difference * std::max(norm_of(weights), 1e-6);
  }

  /// Goes on until the eigenvalue of H + shift settles.
  void run(double shift, Sharpness& found) {
    found.settled = false;
    std::vector<double> v = random_direction(weights_.size(), options_.seed);
    double last = 0;
    const int most = found.products + options_.most_products;
    for (bool first = true; found.products < most; first = false) {
      if (options_.stop && options_.stop()) return;
      std::vector<double> made = hessian_times(gradient_, weights_, v, length_);
      ++found.products;
      if (options_.progress) options_.progress(found.products);
      for (std::size_t i = 0; i < made.size(); ++i) made[i] += shift * v[i];
      const double value = inner_product(v, made), size = norm_of(made);
      found.eigenvalue = value - shift;
      found.residual = std::sqrt(std::max(0.0, size * size - value * value)) /
                       std::max(std::abs(found.eigenvalue), 1e-300);
      found.direction = v;
      found.change = first ? 1 : std::abs(value - last) / std::max(std::abs(value), 1e-300);
      if (size == 0) {  // no curvature in any direction that v has a part of
        found.change = 0, found.settled = true;
        return;
      }
      if (found.change <= options_.tolerance && found.found()) {
        found.settled = true;
        return;
      }
      last = value;
      for (std::size_t i = 0; i < made.size(); ++i) v[i] = made[i] / size;
    }
  }

 private:
  const GradientAt& gradient_;
  std::span<const double> weights_;
  const SharpnessOptions& options_;
  double length_ = 0;
};

}  // namespace

std::vector<double> hessian_times(const GradientAt& gradient, std::span<const double> weights,
                                  std::span<const double> vector, double length) {
  std::vector<double> ahead = gradient(moved(weights, vector, length)).gradient;
  const std::vector<double> behind = gradient(moved(weights, vector, -length)).gradient;
  for (std::size_t i = 0; i < ahead.size(); ++i) ahead[i] = (ahead[i] - behind[i]) / (2 * length);
  return ahead;
}

Sharpness sharpness(const GradientAt& gradient, std::span<const double> weights,
                    const SharpnessOptions& options) {
  Sharpness found;
  const LossGradient here = gradient(weights);
  found.loss = here.loss, found.gradient_norm = norm_of(here.gradient);
  PowerIteration iteration(gradient, weights, options);
  iteration.run(0, found);
  if (found.eigenvalue < 0) iteration.run(-found.eigenvalue, found);
  return found;
}

LossSlice loss_slice(const GradientAt& gradient, std::span<const double> weights,
                     const Sharpness& found, int points, std::uint64_t seed) {
  LossSlice slice;
  const double rise = 2 * std::max(std::abs(found.loss), 1e-6);
  const double reach = found.eigenvalue > 0 ? std::sqrt(2 * rise / found.eigenvalue)
                                            : 0.01 * std::max(norm_of(weights), 1e-6);
  const std::vector<double> other = random_direction(weights.size(), seed + 1);
  for (int p = -points; p <= points; ++p) {
    const double offset = reach * p / points;
    slice.offsets.push_back(offset);
    slice.sharpest.push_back(gradient(moved(weights, found.direction, offset)).loss);
    slice.random.push_back(gradient(moved(weights, other, offset)).loss);
  }
  return slice;
}

}  // namespace trainyard
