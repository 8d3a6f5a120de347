// This file has a cost model that is another one times one factor, which is what a few measured
// steps of a cluster say about all of its prices.
#pragma once

#include <memory>
#include <string>

#include "core/cost/cost_model.h"

namespace trainyard {

/// A StepFactor says how much longer steps take on one's own cluster than is predicted.
struct StepFactor {
  double factor = 1;     // on all times, above 0
  double narrowing = 1;  // what remains of the logarithmic width of bands of time, in (0, 1]
  friend bool operator==(const StepFactor&, const StepFactor&) = default;
};

/// In a ScaledCostModel every time of kernels, hosts and links is multiplied; memory is not.
class ScaledCostModel : public CostModel {
 public:
  virtual const StepFactor& step_factor() const = 0;
  virtual const CostModel& unscaled() const = 0;
  /// A sentence on what its measurements do not say of this cluster; empty where there is none.
  virtual const std::string& not_measured() const = 0;
};

std::unique_ptr<ScaledCostModel> scaled_cost_model(std::unique_ptr<const CostModel>, StepFactor,
                                                   std::string not_measured = "");

}  // namespace trainyard
