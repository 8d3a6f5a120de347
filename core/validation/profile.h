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
  std::string rows;                  // provenance: "runs.csv: 12 rows in 3 groups"
  std::vector<std::string> devices;  // of the catalogue, on whose clusters the rows were measured;
                                     // empty = not stated, and taken for every cluster
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

/// Returns the profile as it prices clusters of the device: a factor is of the clusters that were
/// measured, and other ones are priced without it. Parameters are of all clusters, because a row
/// moves those that its device has a part in (its generation's, or those of every device).
ParameterProfile profile_for(ParameterProfile, const std::string& device);
/// Returns a sentence on what the rows do not say of clusters of the device; empty where they were
/// measured on it, or do not state on what.
std::string not_measured_words(const ParameterProfile&, const std::string& device);

/// Returns the parameters that the rows changed, the largest relative change first.
std::vector<const ParameterInfo*> moved_parameters(const ParameterProfile&);

}  // namespace trainyard
