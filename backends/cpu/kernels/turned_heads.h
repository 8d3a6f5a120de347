// Context ranks exchange heads for tokens where an op needs all tokens: these are its operands
// then.
#pragma once

#include <algorithm>
#include <span>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// Returns the view of a tensor [tokens, batch, heads] after `ranks` have exchanged its heads for
/// tokens in place; an absent one stays absent.
inline TensorView turned_to_heads(TensorView view, int ranks) {
  if (!view.there()) return view;
  view.size[0] *= ranks;
  view.size[2] /= ranks;
  return view;
}

/// Returns the rank's part of a parameter whose first dimension is that of heads or channels, or of
/// its gradient.
inline TensorView part_of_heads(TensorView view, int rank, int ranks) {
  if (!view.there()) return view;
  view.size[0] /= ranks;
  view.data = static_cast<std::byte*>(view.data) + rank * view.bytes().value;
  return view;
}

/// Turns the operands of a recurrence, by input of the node, so that it sees the rank's part of the
/// heads of all tokens: activations and their gradients turn, and of parameters and theirs, which
/// are by head or by channel, the rank takes its part. A list may be shorter or empty.
inline void turn_recurrence(const Graph& graph, const Node& node, int rank, int ranks,
                            std::span<TensorView> list) {
  for (std::size_t i = 0; i < std::min(node.inputs.size(), list.size()); ++i)
    list[i] = graph[node.inputs[i]].kind == TensorKind::Parameter
                  ? part_of_heads(list[i], rank, ranks)
                  : turned_to_heads(list[i], ranks);
}

}  // namespace trainyard
