// Refitting carries a change of one size through the rest of a model: shapes are inferred anew in
// the order data flows, and weights take the width of what they read.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard {

/// A parameter whose sizes someone set: it is not changed to make others fit.
struct PinnedTensor {
  int block = 0;
  TensorId tensor;
};

/// The model with every shape as its ops make it. Each block reads what the block before it makes;
/// where two branches meet, the one that is added takes the width of the stream it is added to.
/// Throws Error{InvalidInput} at "BLOCK/NODE" when no widths fit, because of a pinned size or
/// because an op cannot read what it is given.
Model refitted(Model, const std::vector<PinnedTensor>& pinned = {});

/// The graph without tensors that no node and no end of it names; ids are given anew.
Graph without_unused_tensors(const Graph&);

}  // namespace trainyard
