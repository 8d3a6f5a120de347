// This file has the input of a fit: the rows, how a row is predicted, and how far parameters may
// move.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/cost/parameters.h"

namespace trainyard {

struct FitRow {
  double measured = 0;  // > 0
  double weight = 1;    // 1 / rows of its group
  int source = 0;       // rows of one source are left out together
};

struct FitOptions {
  std::vector<Parameter> free;              // parameters to fit; empty = all with a `fitted_on`
  Parameters prior = Parameters::priors();  // the values near which they are held
  double spread = 1;                        // factor on the spread of every prior
  int iterations = 12;
  double noise = 0.025;  // of one group's log error; the spreads of priors are relative to it
  double robust = 0.15;  // log error above which a row's pull no longer grows (Huber)
  int threads = 2;
};

/// predict(row, parameters) must be > 0 and pure, and is called on several threads. An Error that
/// it throws is passed on by fit().
using Predict = std::function<double(std::size_t, const Parameters&)>;

}  // namespace trainyard
