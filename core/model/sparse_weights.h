// Sparse weights: the weights of products and convolutions are kept, trained and updated as the
// blocks that are stored of them (core/model/sparse_pattern.h). Biases, norms, tables, convolutions
// in groups, routed experts and what shares a table stay dense.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/model/model.h"

namespace trainyard {

struct SparseSpec {
  double density = 0.1;       // share of a weight's blocks that are stored, in (0, 1]
  std::int64_t block = 1;     // neighbours along a row of the weight [in, out] that are stored
                              // together
  bool sixteen_bits = false;  // the format of weights, in which patterns are kept too
  double capacity = 1;  // blocks that each weight has room for over those that it begins with,
                        // >= 1; never more than the weight has
};

/// Returns the model with each weight of a product replaced by values of that density and their
/// pattern, in all its blocks. A weight whose rows do not divide into whole blocks stays dense, as
/// does one that another block shares. Throws Error{InvalidInput} at `place` where no weight is
/// left to make sparse.
Model with_sparse_weights(Model, const SparseSpec&, const Place&);
/// Returns the model with the dense weights that it had before.
Model with_dense_weights(Model);
/// Returns whether with_sparse_weights() has changed the model.
bool has_sparse_weights(const Model&);

}  // namespace trainyard
