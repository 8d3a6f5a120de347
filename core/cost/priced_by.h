// This file says whether the price of a kernel rests on measurements or on a formula, because a
// price from a closer measurement gets a narrower error band.
#pragma once

#include <cstdint>

#include "core/cost/cost_model.h"

namespace trainyard {

enum class PricedBy : std::uint8_t {
  Measurement,  // measured for this kernel at this shape
  OtherShapes,  // measured for the same kernel at other shapes
  Learned,      // learned from the same kernel and others, at other shapes
  Formula,      // no measurement of the kernel
};

struct PriceBasis {
  PricedBy by = PricedBy::Formula;
  /// For OtherShapes: how similar the kernel is to the measured ones, in [0, 1]: the share of its
  /// start, arithmetic and traffic that theirs cover. The rest is priced by the formula.
  double likeness = 1;
  /// For Learned: nine in ten measurements are within a factor of exp(off) of the price.
  double off = 0;
  /// For Learned: a size of the kernel lies outside of those that were measured.
  bool beyond = false;
};

/// A MeasuredCostModel uses measurements of the machine at hand where there are any.
class MeasuredCostModel : public CostModel {
 public:
  virtual PriceBasis priced_by(const Work&) const = 0;
};

}  // namespace trainyard
