// A weight pass reads the gradients of its outputs; this file says where it reads others too.
#pragma once

#include <cstddef>

#include "core/model/graph.h"

namespace trainyard {

/// Returns whether the node's weight pass reads the gradient of that input, which its input pass
/// wrote: a recurrence's does, which makes that gradient step by step, if no other op adds to it
/// and it is not handed to the layer before.
bool weight_pass_reads_gradient(const Graph&, const Node&, std::size_t input);

}  // namespace trainyard
