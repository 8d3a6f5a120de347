// The arithmetic of updates that takes a core longer than their bytes do. Most optimizers make a
// few operations a parameter, in lanes, while they wait for memory; those that store state in
// codes, or compute in doubles one parameter after another, do not. Operations are counted as
// McMahon's Livermore kernels weigh them ("The Livermore Fortran Kernels", 1986): a division or a
// root is four.
#pragma once

#include "core/methods/layers/body.h"
#include "core/model/dtype.h"
#include "core/plan/plan.h"

namespace trainyard {

struct UpdateArithmetic {
  double operations = 0;    // of one parameter's update
  DType math = DType::F32;  // I8: through tables of byte codes, in lanes; F64: doubles, one by one
};

/// Returns the arithmetic of an update besides products of matrices; none where bytes are all that
/// counts.
///
///   adamw-8bit  25 for each of two moments: 2 to read it, 4 to find the largest of its block, and
///               19 to find its code
///   adafactor   23: 1 for the gradient, 5 for its square in two sums, 11 for the step (a division
///               and a root), 3 for its root mean square, 3 for the descent
///   halp        50 in an inner step: 8 to read an offset, 7 to move it, 13 to draw a number, 10 to
///               round, 8 to store, 4 for the weight. Its fewer steps that add up gradients are
///               priced alike, as a program has one update for all steps.
UpdateArithmetic update_arithmetic(const Plan&);

/// Adds it to the update of a layer, for each parameter whose bytes the update touches.
void add_update_arithmetic(Body&, const Layout&, const Plan&);

}  // namespace trainyard
