// The sharpness of a loss is the largest eigenvalue of its Hessian: how strongly the gradient
// changes along the direction in which it changes most. It bounds the rate at which descent is
// stable: 2 / sharpness, less where gradients are old (core/result/stable_rate.h), and with it how
// far a rate can grow with the batch. Power iteration finds it from products of the Hessian with a
// vector, and those are differences of gradients, so that only gradients are ever computed
// (Pearlmutter, "Fast Exact Multiplication by the Hessian", Neural Computation 1994).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace trainyard {

struct LossGradient {
  double loss = 0;
  std::vector<double> gradient;
};
/// Returns loss and gradient at these weights, over the same samples each time.
using GradientAt = std::function<LossGradient(std::span<const double> weights)>;

struct SharpnessOptions {
  int most_products = 100;  // of a power iteration; each takes two gradients
  double tolerance = 1e-3;  // ends where an iteration changes the eigenvalue by less, as a share
  // The length of a difference of gradients, as a share of the norm of the weights. A longer one
  // meets higher derivatives and the bends of ReLUs, at which gradients jump: gpt-tiny has a
  // sharpness of 79 at 1e-5 and 1e-4 and does not settle at 1e-3, mlp-small settles at 1e-5 alone.
  // In a much shorter one the gradients of 4-byte numbers are rounding.
  double difference = 1e-5;
  std::uint64_t seed = 1;                  // of the first vector
  std::function<bool()> stop = {};         // asked before each product
  std::function<void(int)> progress = {};  // called with the number of products done
};

struct Sharpness {
  double eigenvalue = 0;          // the largest one; negative where the loss is concave everywhere
  std::vector<double> direction;  // its eigenvector, of length 1
  int products = 0;      // of the Hessian with a vector, of both iterations where it took two
  double change = 0;     // of the eigenvalue in the last iteration, as a share
  bool settled = false;  // `change` is within the tolerance, and something was found
  double loss = 0, gradient_norm = 0;  // at the weights
  // An eigenvalue lies within this share of `eigenvalue`: |H v - eigenvalue v| / |eigenvalue|.
  double residual = 0;

  /// Returns whether an eigenvalue of that sign was found at all. Where gradients jump between the
  /// two ends of a difference, as at the bends of ReLUs under few samples, products are no longer
  /// those of one symmetric matrix, and the residual may exceed the eigenvalue.
  bool found() const { return products > 0 && residual < 1; }
};

/// Returns the Hessian times a vector of length 1, by central differences.
std::vector<double> hessian_times(const GradientAt&, std::span<const double> weights,
                                  std::span<const double> vector, double length);

/// Finds the largest eigenvalue. Where that of the largest size is negative, it goes on with the
/// Hessian shifted by it, whose largest eigenvalue is then the wanted one. At least one weight.
/// Stopped, it returns what it has.
Sharpness sharpness(const GradientAt&, std::span<const double> weights,
                    const SharpnessOptions& = {});

/// The loss along two lines through the weights: in the sharpest direction and in a random one.
struct LossSlice {
  std::vector<double> offsets;  // lengths, rising, with 0 in the middle
  std::vector<double> sharpest, random;
};
/// `points` on each side of the weights, up to the offset at which a parabola of this sharpness
/// would have risen by twice the loss.
LossSlice loss_slice(const GradientAt&, std::span<const double> weights, const Sharpness&,
                     int points, std::uint64_t seed);

}  // namespace trainyard
