// A HalpStudy shows what HALP's bits do on least squares: the error after so many rounds by bits,
// on a grid that follows the full gradient and on one that stays, beside floats; and how the grid
// shrinks round by round. All of it is computed here, by the algorithm itself
// (core/training/halp/halp.h).
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/training/halp/halp.h"

namespace trainyard {

struct HalpQuestion {
  std::vector<int> bits = {2, 3, 4, 5, 6, 8, 12};
  double mu = 0.8;  // about the least curvature of the problem
  double rate = 0.01;
  std::int64_t samples = 1000, weights = 10;
  std::int64_t inner = 1500, rounds = 14;
  double noise = 0.1;  // standard deviation of what the weights do not explain
  std::uint64_t seed = 1;
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // share that is done, in [0, 1]
};

struct HalpRow {
  int bits = 8;
  HalpRun centred, fixed;
};

struct HalpStudy {
  HalpQuestion question;
  double least_curvature = 0, most_curvature = 0;  // extreme eigenvalues of the Hessian
  HalpRun floats;                                  // SVRG
  std::vector<HalpRow> rows;                       // by bits, as asked for
  /// The row of so many bits, which must be there.
  const HalpRow& row(int bits) const;
};

/// Runs the study: features and weights are drawn from normal distributions. Throws
/// Error{Cancelled} when it is stopped.
HalpStudy study_halp(const HalpQuestion&);

/// Returns sentences that follow from the figures: how far each number of bits comes, which
/// stall or diverge, and where offsets are clipped.
std::vector<std::string> halp_sentences(const HalpStudy&);

}  // namespace trainyard
