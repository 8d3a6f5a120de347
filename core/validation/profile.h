// A ParameterProfile is the parameters of the cost model fitted to a user's own rows: what
// `trainyard calibrate --rows` writes and --calibration reads.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/parameters.h"
#include "core/cost/scaled.h"

namespace trainyard {

/// The residual on the rows to which a profile was fitted: shares of |predicted / measured - 1|,
/// groups weighted equally.
struct ProfileResidual {
  double median = 0, p90 = 0, worst = 0;
  friend bool operator==(const ProfileResidual&, const ProfileResidual&) = default;
};

struct ParameterProfile {
  std::string rows;  // provenance: "runs.csv: 12 rows in 3 groups"
  Parameters parameters, shipped;
  std::array<double, kParameters> determined = all_open();  // posterior over prior spread, in (0,
                                                            // 1]
  std::optional<StepFactor> steps;  // on all times, where rows are too few for parameters
  ProfileResidual before, after;    // residual with shipped and with fitted values
  std::vector<std::string> notes;
  friend bool operator==(const ParameterProfile&, const ParameterProfile&) = default;

 private:
  static std::array<double, kParameters> all_open() {
    std::array<double, kParameters> ones;
    ones.fill(1);
    return ones;
  }
};

/// Returns the parameters that the rows changed, the largest relative change first.
std::vector<const ParameterInfo*> moved_parameters(const ParameterProfile&);

}  // namespace trainyard
