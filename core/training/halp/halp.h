// HALP's arithmetic and its whole algorithm on a finite sum (core/methods/precision/halp.cpp has
// the formulas and the paper): SVRG whose inner iterate is an offset z from an anchor, on a grid of
// 2^b - 1 points that each full gradient makes anew. Runs of the same steps without bits, and on
// one grid that stays where the first one was, stand beside it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/plan/halp.h"

namespace trainyard {

/// Returns n = 2^(bits - 1) - 1: a grid has the points s {-n ... n}. bits: 2 to 16.
constexpr std::int64_t largest_offset(int bits) { return (std::int64_t{1} << (bits - 1)) - 1; }
/// Returns the step s of the grid of a full gradient of that norm.
double grid_step(double norm, double mu, int bits);

inline constexpr std::int64_t kOffsetWordBits = 32;

/// An offset in steps of the grid.
struct Offset {
  std::int64_t code = 0;
  bool clipped = false;  // the number lay beyond the grid
};
/// Rounds to one of the two neighbours in the grid, so that its mean is the number inside the grid.
/// uniform: drawn from [0, 1). On a grid of step 0 all is 0. number: finite.
inline Offset round_to_grid(double number, double step, int bits, double uniform) {
  if (!(step > 0)) return {};
  const auto most = static_cast<double>(largest_offset(bits));
  const double in_steps = number / step;
  if (in_steps > most) return {largest_offset(bits), true};
  if (in_steps < -most) return {-largest_offset(bits), true};
  return {static_cast<std::int64_t>(std::min(most, std::floor(in_steps + uniform))), false};
}

/// Offsets lie in 4-byte words, of `bits` bits each without gaps.
std::int64_t offset_words(std::int64_t elements, int bits);
inline std::int64_t offset_at(std::span<const std::uint32_t> words, int bits, std::int64_t index) {
  const std::int64_t first = index * bits, shift = first % kOffsetWordBits;
  const auto word = static_cast<std::size_t>(first / kOffsetWordBits);
  std::uint64_t two = words[word];
  if (shift + bits > kOffsetWordBits)
    two |= static_cast<std::uint64_t>(words[word + 1]) << kOffsetWordBits;
  const auto code = static_cast<std::int64_t>((two >> shift) & ((std::uint64_t{1} << bits) - 1));
  return code > largest_offset(bits) ? code - (std::int64_t{1} << bits) : code;
}
inline void set_offset(std::span<std::uint32_t> words, int bits, std::int64_t index,
                       std::int64_t code) {
  const std::int64_t first = index * bits, shift = first % kOffsetWordBits;
  const auto word = static_cast<std::size_t>(first / kOffsetWordBits);
  const bool crosses = shift + bits > kOffsetWordBits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t two = words[word];
  if (crosses) two |= static_cast<std::uint64_t>(words[word + 1]) << kOffsetWordBits;
  two = (two & ~(mask << shift)) | ((static_cast<std::uint64_t>(code) & mask) << shift);
  words[word] = static_cast<std::uint32_t>(two);
  if (crosses) words[word + 1] = static_cast<std::uint32_t>(two >> kOffsetWordBits);
}

/// FiniteSum is f(w) = mean over terms of f_i(w).
struct FiniteSum {
  std::int64_t terms = 0, dimensions = 0;
  /// Adds `factor` times the gradient of a term at w.
  std::function<void(std::int64_t term, std::span<const double> w, double factor,
                     std::span<double> gradient)>
      add_gradient;
};

/// Convergence is the validity light of a run by its full gradients.
enum class Convergence : std::uint8_t {
  Converges,  // no norm is above the first one, and most rounds make it smaller
  Stalls,     // neither
  Diverges,   // the last norm is above the first one, or numbers are not finite
};
std::string_view to_string(Convergence);  // "converges", "stalls", "diverges"

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
  /// Returns the distance after the last round; 1 where there is none.
  double error() const { return rounds.empty() ? 1 : rounds.back().distance; }
  /// Returns how many offsets of all rounds lay beyond the grid.
  std::int64_t clipped() const;
  /// Returns how many rounds made the norm of the full gradient smaller.
  std::int64_t contractions() const;
  Convergence convergence() const;
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
