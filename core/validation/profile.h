// A ParameterProfile is the parameters of the cost model as somebody's own rows move them: what
// `trainyard calibrate --rows` keeps and --calibration reads.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/cost/parameters.h"

namespace trainyard {

/// Of the rows that a profile was fitted to: shares of |predicted / measured - 1|, groups equal.
struct ProfileResidual {
  double median = 0, p90 = 0, worst = 0;
  friend bool operator==(const ProfileResidual&, const ProfileResidual&) = default;
};

struct ParameterProfile {
  std::string rows;  // provenance: "runs.csv: 12 rows in 3 groups"
  Parameters parameters, shipped;
  std::array<double, kParameters> determined = all_open();  // posterior over prior spread, (0, 1]
  ProfileResidual before, after;                            // with shipped, with fitted values
  std::vector<std::string> notes;
  friend bool operator==(const ParameterProfile&, const ParameterProfile&) = default;

 private:
  static std::array<double, kParameters> all_open() {
    std::array<double, kParameters> ones;
    ones.fill(1);
    return ones;
  }
};

/// The parameters that the rows moved, the farthest in proportion first.
std::vector<const ParameterInfo*> moved_parameters(const ParameterProfile&);

}  // namespace trainyard
