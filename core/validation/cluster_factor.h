// This file fits one factor on step times to a few measured rows of one's own cluster, which is all
// that one to three rows support: how far predictions are off differs more between clusters and
// their software than between the runs on one of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/cost/scaled.h"
#include "core/validation/bands.h"
#include "core/validation/rows/row_scenario.h"

namespace trainyard {

inline constexpr std::size_t kFactorRows = 3;  // most rows to which one factor is fitted

/// A StepErrorSpread has standard deviations of logarithms of predicted over measured step times.
struct StepErrorSpread {
  double between = 0;  // of the means of groups around 0
  double within = 0;   // of the rows of a group around its mean
};
/// Returns the spread of the rows' step times by the method of moments (one-way random effects:
/// DerSimonian and Laird 1986), groups weighted equally. `without`: rows of this source are
/// ignored. Zero where no group has two rows.
StepErrorSpread error_spread(const std::vector<ValidatedRow>&, bool routed,
                             const std::string& without = "");

/// Returns the factor that a prior around 1, as wide as groups are apart, and the rows' errors
/// (logarithms of predicted over measured) make most likely, and what it leaves of bands. Without
/// rows it is 1.
StepFactor cluster_factor(const std::vector<double>& log_errors, const StepErrorSpread&);

/// Returns the step times that represent rows, at most kFactorRows: the middle one by time for one,
/// the first and last sixth for two, and all three. `rows` are indices into the set, at least
/// `count` of them.
std::vector<std::size_t> rows_given_back(const RowSet&, std::vector<std::size_t> rows,
                                         std::size_t count);

}  // namespace trainyard
