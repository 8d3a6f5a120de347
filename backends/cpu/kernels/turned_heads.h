// Context ranks exchange heads for tokens where an op needs all tokens: these are its operands
// then.
#pragma once

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

}  // namespace trainyard
