// Nodes that read the same input and are of like kind, as one node whose output has theirs side by
// side (Ding et al., "IOS: Inter-Operator Scheduler for CNN Acceleration", MLSys 2021: operator
// merge). The input is read once, and one large product takes the place of several small ones.
//
//   1 x 1 of 64 channels to 32 -+                  3 x 3 of 64 channels to 96, where the weights of
//   3 x 3 of 64 channels to 64 -+- of one input    the first lie among zeros
#pragma once

#include <vector>

#include "core/model/graph.h"

namespace trainyard {

/// Returns whether two nodes may become one. Both read the same tensor, have weights of their own
/// and either both a bias or neither, and are
///
///  - products with a weight [in, out]; or
///  - convolutions of one group and of the same stride, where the smaller kernel with zeros around
///    it is the larger one: kernel - 2 padding is the same along both dimensions.
///
/// Nodes that may each become one with a third may become one with each other.
bool may_merge(const Graph&, const Node&, const Node&);

/// The nodes, which may all become one, as the only node of a graph on one device: its tensors are
/// input, weight, bias (where there is one) and output. Outputs lie in the order of the nodes along
/// the channels of a convolution and the last dimension of a product. A convolution has the largest
/// of the kernels, with as much padding as that one had.
Graph merged_nodes(const Graph&, const std::vector<const Node*>&);

}  // namespace trainyard
