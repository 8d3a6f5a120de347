// This file holds the gradients that a model's author gave to its formulas against central
// differences of their values, in double precision at random points.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.h"

namespace trainyard {

/// Share of the larger of 1 and the difference by which a gradient may differ from it and still
/// agree.
inline constexpr double kGradientTolerance = 1e-4;

/// A GradientVerdict is what the check found about one input or parameter of one formula.
struct GradientVerdict {
  std::string block, node, input;
  int points = 0;      // at which both were compared
  int left_out = 0;    // where the value is not a number or has a kink
  double largest = 0;  // error at the worst point, as a share of the larger of 1 and the difference
  double given = 0, difference = 0;  // at that point: what the formula gives, central difference
  bool intended = false;             // the model says that the gradient is not the derivative
  bool agrees = false;               // at all points, to kGradientTolerance
  /// An intended gradient may be what it is. A claimed one holds where it agrees at one point or
  /// more.
  bool holds() const { return intended || agrees; }
};

/// Checks every formula of the model. Deterministic.
std::vector<GradientVerdict> check_gradients(const Model&);
/// Checks one node, of the op "formula", of a block of that name.
std::vector<GradientVerdict> check_gradients(const Graph&, const Node&, const std::string& block);
/// "agrees with the derivative at 1000 points, to 2e-10 at most"
std::string to_text(const GradientVerdict&);

}  // namespace trainyard
