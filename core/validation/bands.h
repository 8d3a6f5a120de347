// How far a prediction may be off: the errors of the published rows that are most like it, each
// predicted without its own source. And whether anything like it was ever published.
#pragma once

#include <string>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// What makes two runs alike: logarithms and switches, each scaled so that 1 is a large difference.
struct RunFeatures {
  std::vector<double> values;  // in the order of feature_names()
};
std::vector<std::string> feature_names();
RunFeatures features(const Workload&, const StepEstimate&);

/// A row that a prediction was held against.
struct ValidatedRow {
  std::string id, group, source;
  RunFeatures features;
  double log_error = 0;  // of the cross-validated prediction
  bool memory = false;
  bool routed = false;
};
/// Those that ship (assets/validation/residuals, made by `trainyard validate --cross`), in order.
const std::vector<ValidatedRow>& validated_rows();

struct Neighbour {
  std::string id;
  double distance = 0;
};
struct Band {
  double low = 0, high = 0;  // shares of the value, low <= 0 <= high
  std::string basis;         // "90 % of the 24 nearest published rows (bs-a100-012 ...) lie within"
  std::vector<Neighbour> nearest;      // nearest first, at most five
  bool outside = false;                // farther from all rows than rows are from each other
  std::vector<std::string> unchecked;  // parts of the plan that no row has: "expert parallel"
};
Band time_band(const Workload&, const StepEstimate&);
Band memory_band(const Workload&, const StepEstimate&);
/// Against other rows than those that ship; `without`: rows of this source are not there.
Band band_among(const std::vector<ValidatedRow>&, const Workload&, const StepEstimate&, bool memory,
                const std::string& without = "");

}  // namespace trainyard
