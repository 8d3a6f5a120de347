// The ops of a layer's forward or backward as operators, with what each must wait for.
#pragma once

#include <cstddef>
#include <vector>

#include "core/methods/layers/body.h"
#include "core/methods/layers/operator_graph.h"

namespace trainyard {

/// The operators of `ops`, which are Body::forward or Body::backward of a layer with that graph, in
/// the same order. One waits for another that writes what it reads or writes, or that reads what it
/// writes:
///
///  - a forward writes its node's outputs and what the node keeps beside tensors;
///  - an input pass reads what the forward read and wrote, and adds to the gradients of its inputs;
///  - a weight pass reads the same and adds to the gradients of its parameters, so that it goes
///    beside the input pass of its own layer and all that follow;
///  - sums are made in the order of the body, so that they have the same bits;
///  - the tensors of a view are the tensor that is viewed, and the first op that reads a view, or
///    the gradient of a tensor that one reads, makes it before the others read it;
///  - ops of routed experts share the routing, and each of them waits for the one before;
///  - a collective waits for all before it, and all behind it wait for it.
///
/// It touches the tensors of that list, in 4-byte floats; what a node keeps beside tensors and the
/// routing have no bytes there.
///
/// `reads_gradient` says whether an executor's weight pass of the node reads what its input pass
/// made for that input: it then waits for it, and whatever adds to it waits.
OperatorGraph layer_operators(const Graph&, const Body&, const std::vector<BodyOp>& ops,
                              bool (*reads_gradient)(const Graph&, const Node&, std::size_t input));

}  // namespace trainyard
