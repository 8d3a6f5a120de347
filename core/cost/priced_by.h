// The price of a kernel rests on measurements or on a formula. This file names which, because a
// price that rests on a closer measurement gets a narrower band.
#pragma once

#include <cstdint>

#include "core/cost/cost_model.h"

namespace trainyard {

enum class PricedBy : std::uint8_t {
  Measurement,  // of that very kernel at that very shape
  OtherShapes,  // measurements of the same kernel at other shapes
  Formula,      // no measurement of the kernel
};

struct PriceBasis {
  PricedBy by = PricedBy::Formula;
  /// OtherShapes: how alike the kernel and those that were measured are made, in [0, 1]: the share
  /// of its start, arithmetic and traffic that is in theirs too. The rest stands on the formula.
  double likeness = 1;
};

/// A cost model that goes by measurements of the machine at hand as far as they reach.
class MeasuredCostModel : public CostModel {
 public:
  virtual PriceBasis priced_by(const Work&) const = 0;
};

}  // namespace trainyard
