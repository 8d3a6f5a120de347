// When each tensor of a layer is there, as whoever executes the ops must hold it. Tensors that
// nobody keeps live from the op that makes them to the last that reads them:
//
//   forward    an output from its op (one that is reduced to parts: whole until the reduction has
//              ended, in parts from its start); the layer's input from the first op; the layer's
//              output to the last op of the phase, where the next layer, or a message, takes it
//              over
//   views      compute nothing (a reshape): what they give is written at the first op that reads
//              it, and until then what they read must be there
//   backward   the gradient of the layer's output from the first op; any other from the first op
//              that writes or adds to it; until the ops of the node that made the tensor have read
//              it. A view's backward runs at the first op that needs its input's gradient. The
//              gradient of the layer's input to the last op of the (input) pass
//   again      outputs of recomputed ops that backward does not keep, among the ops of backward
//
// Indices and other data that come from outside, unless kept, are there from the first op that
// reads them to the last. Parameters, their gradients, and statistics of a loss are none of this.
#pragma once

#include "core/methods/layers/body.h"

namespace trainyard {

/// Stands where no op is.
inline constexpr std::uint32_t kNoOp = static_cast<std::uint32_t>(-1);

/// Sets when each saved tensor is made and freed, the transients, and what they hold at once.
/// Called when all methods have rewritten the body.
void find_lifetimes(Body&, const Graph&, const Layout&);

/// The first op that takes what the layer before (or after) left: not a collective of weights. Of
/// backward, one of the input pass where there is one. kNoOp where there is none.
std::uint32_t first_op(const std::vector<BodyOp>&);

/// Of body.transients and body.saved, in a layer with these inputs.
TransientBytes transient_bytes(const Body&, TensorId input, TensorId side_input);

}  // namespace trainyard
