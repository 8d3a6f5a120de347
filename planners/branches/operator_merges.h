// The operators of a layer that may run as one, as IOS merges them.
#pragma once

#include <vector>

#include "core/methods/layers/body.h"
#include "core/methods/layers/operator_graph.h"

namespace trainyard {

/// Up to so many operators of a kind may run as one in any choice of two or more; of a longer list
/// neighbours may, because the choices double with each operator.
inline constexpr std::size_t kFreelyMerged = 4;

/// Returns the choices of operators of `ops`, which layer_operators() made, that may run as one:
/// those whose nodes may (core/model/merged_nodes.h) in one and the same pass, if no operator
/// outside comes after one and before another of them. Forward outputs lie side by side and are
/// copied to where their readers expect them. The input gradient is one product of all output
/// gradients, which sums them as well; weight gradients likewise lie side by side. The graph must
/// be of one device.
std::vector<OperatorMerge> operator_merges(const Graph&, const std::vector<BodyOp>& ops,
                                           const OperatorGraph&);

}  // namespace trainyard
