// RunFeatures are what makes two runs similar for a prediction: how long a piece of device work is,
// how much of the step is communication and idle time, which kernels run, what is not stated.
#pragma once

#include <string>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// The values are logarithms and switches, each scaled so that 1 is a large difference.
struct RunFeatures {
  std::vector<double> values;  // in the order of feature_names()
  friend bool operator==(const RunFeatures&, const RunFeatures&) = default;
};
std::vector<std::string> feature_names();
/// blanks is the number of important settings that are not stated.
RunFeatures features(const Workload&, const StepEstimate&, int blanks = 0);

/// Returns whether the run's model routes tokens to experts.
bool routes(const RunFeatures&);

/// Returns how far apart two runs are for a prediction of time or of memory; 0 for a run and
/// itself.
double distance(const RunFeatures&, const RunFeatures&, bool memory);

/// Returns the parts of a run that a published row may or may not have: "Hopper devices", "schedule
/// zb-v", "context parallel". Sorted.
std::vector<std::string> parts_of(const Workload&);

}  // namespace trainyard
