// HALP's arithmetic and its whole algorithm on a finite sum (core/methods/precision/halp.cpp has
// the formulas and the paper): SVRG whose inner iterate is an offset z from an anchor, on a grid of
// 2^b - 1 points that each full gradient makes anew. Runs of the same steps without bits, and on
// one grid that stays where the first one was, stand beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/halp.h"

namespace trainyard {

/// Returns n = 2^(bits - 1) - 1: a grid has the points s {-n ... n}. bits: 2 to 16.
constexpr std::int64_t largest_offset(int bits) { return (std::int64_t{1} << (bits - 1)) - 1; }
/// Returns the step s of the grid of a full gradient of that norm.
double grid_step(double norm, double mu, int bits);

/// An offset in steps of the grid.
struct Offset {
  std::int64_t code = 0;
  bool clipped = false;  // the number lay beyond the grid
};
/// Rounds to one of the two neighbours in the grid, so that its mean is the number inside the grid.
/// uniform: drawn from [0, 1). On a grid of step 0 all is 0. number: finite.
Offset round_to_grid(double number, double step, int bits, double uniform);

/// Offsets lie in 4-byte words, of `bits` bits each without gaps.
std::int64_t offset_words(std::int64_t elements, int bits);
std::int64_t offset_at(std::span<const std::uint32_t> words, int bits, std::int64_t index);
void set_offset(std::span<std::uint32_t> words, int bits, std::int64_t index, std::int64_t code);

/// FiniteSum is f(w) = mean over terms of f_i(w).
struct FiniteSum {
  std::int64_t terms = 0, dimensions = 0;
  /// Adds `factor` times the gradient of a term at w.
  std::function<void(std::int64_t term, std::span<const double> w, double factor,
                     std::span<double> gradient)>
      add_gradient;
};

enum class Descent : std::uint8_t {
  Svrg,        // in 8-byte floats
  FixedGrid,   // LP-SVRG: weights on the grid that the first full gradient gives, about the start
  BitCentred,  // HALP
};

/// A round is one full gradient and the inner steps after it.
struct HalpRound {
  double gradient_norm = 0;  // of the full gradient at the anchor
  double step = 0;           // of the grid; 0 without one
  double distance = 0;       // from the weights after the round to the solution, as a share of that
                             // from the start
  std::int64_t clipped = 0;  // offsets of inner steps that lay beyond the grid
};

struct HalpRun {
  std::vector<HalpRound> rounds;  // fewer than asked for where numbers ceased to be finite
  double last_norm = 0;           // of the full gradient after the last round
  /// Returns the distance after the last round.
  double error() const { return rounds.empty() ? 1 : rounds.back().distance; }
  /// Returns how many offsets of all rounds lay beyond the grid.
  std::int64_t clipped() const;
  /// Returns how many rounds made the norm of the full gradient smaller.
  std::int64_t contractions() const;
  /// HALP's validity light: no norm of a full gradient is above the first one, and most rounds make
  /// it smaller. A run whose numbers are not finite diverges.
  bool converges() const;
};

struct DescentQuestion {
  Halp halp;  // `inner` is the number of inner steps, of one term each; `pass` is not read
  double rate = 0.01;
  std::int64_t rounds = 14;
  std::uint64_t seed = 1;  // of the terms that inner steps draw, and of roundings
};

/// Runs from `start`. Runs with one seed draw the same terms, however they round.
HalpRun descend(const FiniteSum&, Descent, const DescentQuestion&, std::span<const double> start,
                std::span<const double> solution);

}  // namespace trainyard
