// Context ranks exchange heads for tokens where an op needs all tokens: these are its operands
// then.
#pragma once

#include <algorithm>
#include <span>

#include "backends/cpu/kernels/kernel.h"
#include "core/methods/layers/context_region.h"

namespace trainyard {

/// Returns the view of a tensor [tokens, batch, heads] after `ranks` have exchanged its heads for
/// tokens in place, so many of which have the same heads; an absent one stays absent.
inline TensorView turned_to_heads(TensorView view, int ranks, std::int64_t copies = 1) {
  if (!view.there()) return view;
  view.size[0] *= ranks;
  view.size[2] = view.size[2] * copies / ranks;
  return view;
}

/// Returns the rank's part of a parameter whose first dimension is that of heads or channels, or of
/// its gradient.
inline TensorView part_of_heads(TensorView view, std::int64_t rank, std::int64_t ranks) {
  if (!view.there()) return view;
  view.size[0] /= ranks;
  view.data = static_cast<std::byte*>(view.data) + rank * view.bytes().value;
  return view;
}

/// Turns operands of a recurrence, by the tensors that they or their gradients are of, so that it
/// sees the context rank's part of the heads of all tokens: activations and their gradients turn,
/// and of parameters and theirs, which are by head or by channel, the rank takes its part. A list
/// may be shorter or empty.
inline void turn_recurrence(const Graph& graph, const std::vector<TensorId>& tensors,
                            const Binding& binding, int rank, std::span<TensorView> list) {
  for (std::size_t i = 0; i < std::min(tensors.size(), list.size()); ++i) {
    const Tensor& tensor = graph[tensors[i]];
    const std::int64_t copies = copies_of_groups(tensor, binding);
    list[i] = tensor.kind == TensorKind::Parameter
                  ? part_of_heads(list[i], rank / copies, binding.cp / copies)
                  : turned_to_heads(list[i], binding.cp, copies);
  }
}

}  // namespace trainyard
