// Refitting carries a change of one size through the rest of a model: shapes are inferred anew in
// the order in which data flows, and weights take the width of the tensors that multiply them.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard {

/// A PinnedTensor is a parameter whose sizes a user set, so that it must not be changed to make
/// others fit.
struct PinnedTensor {
  int block = 0;
  TensorId tensor;
};

/// Returns the model with every shape as its ops infer it. Each block reads what the block before
/// it produces. Where two branches meet, the one that is added takes the width of the stream to
/// which it is added. A tensor that was tied to one that is gone or of another size by now has
/// storage of its own. Throws Error{InvalidInput} at "BLOCK/NODE" when no widths fit, because of a
/// pinned size or because an op cannot read its input.
Model refitted(Model, const std::vector<PinnedTensor>& pinned = {});

/// Returns the parameter whose storage a tied tensor shares: one of as many elements that is not
/// tied itself. Null if there is none.
const Tensor* shared_parameter(const Model&, const Tensor& tied);

/// Returns the graph without tensors that no node reads or writes and that are no input or output
/// of the graph. The remaining tensors get new ids.
Graph without_unused_tensors(const Graph&);

}  // namespace trainyard
