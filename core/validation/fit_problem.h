// What a fit is given: the rows, how one is predicted, and how far parameters may go.
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
  std::vector<Parameter> free;              // empty = all with a `fitted_on`
  Parameters prior = Parameters::priors();  // what each is held near
  double spread = 1;                        // of every prior, a factor
  int iterations = 12;
  double noise = 0.025;  // of one group's log error; spreads of priors are measured against it
  double robust = 0.15;  // log error from which on a row pulls no harder (Huber)
  int threads = 2;
};

/// predict(row, parameters) > 0, pure, called on several threads; an Error that it throws leaves
/// fit().
using Predict = std::function<double(std::size_t, const Parameters&)>;

}  // namespace trainyard
