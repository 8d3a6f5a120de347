// Copies of samples that run under rounded weights, beside their samples that run under whole ones:
// what the stability loss compares where a network is to answer alike with weights of a few bits.
// A product is linear in its weight, so that those of all rows are made with whole weights, and
// what rounding changes is added to the rows of copies. Weight gradients are those of whole
// weights, which rounding lets pass as they are.
//
// Bengio, Leonard and Courville, "Estimating or Propagating Gradients Through Stochastic Neurons
// for Conditional Computation", arXiv:1308.3432, 2013 (straight-through gradients).
#pragma once

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// Returns whether the node reads a matrix, table or kernel, which lose bits.
bool reads_matrix(const Graph&, const Node&);
/// Returns whether its copies can run so: a product, a convolution or a table whose results are
/// those of samples.
bool can_round_copies(const Graph&, const Node&);

/// Adds to the results of copies, or to the gradients of their inputs, what rounding the weight to
/// so many bits changes. Comes after run_kernel() of the same call, whose operands are 4-byte
/// floats and whose weight is whole; does nothing for other nodes and in the weight's pass.
void run_rounded_copies(const KernelCall&, Pass, int bits);

}  // namespace trainyard
