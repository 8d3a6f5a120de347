// Gradients of which each tensor rank finds only a share, so that the ranks sum them before the
// update, as Megatron-LM does when it finalizes a model's gradients.
#pragma once

#include "core/model/graph.h"

namespace trainyard {

/// Why each tensor rank finds only a share of a parameter's gradient.
enum class PartialGradient : std::uint8_t {
  None,
  OwnTokens,  // sequence parallel: an op outside the tensor region sees the rank's tokens only
  OwnHeads    // the rank has some of the heads for all of which the parameter is: it is one that
              // ranks share (of keys, where there are fewer heads of them than ranks), or a norm's
              // over each head (Qwen 3, gated delta)
};

/// `binding` is that of the parameter's layer.
PartialGradient partial_gradient(const Graph&, TensorId parameter, const Binding& binding);

}  // namespace trainyard
