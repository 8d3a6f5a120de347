// Some layers of a tensor parallel plan may keep their weights whole on every tensor rank. The
// ranks then divide the sequence alone, as sequence parallel does between tensor regions, and
// exchange heads for tokens around attention and recurrences (Ulysses):
//
//   a layer of tensor parallel   x/t ── all-gather ──▶ [columns ─ rows] ── reduce-scatter ──▶ x/t
//   a layer that exchanges       x/t ──▶ products ── all-to-all ──▶ attention ── all-to-all ──▶ x/t
//
// Such a layer sends less where few heads of keys and values go with long sequences, and holds t
// times the weights; each rank has the gradients of its own tokens, which the ranks add up.
// Galvatron searches the choice by layer.
//
// Jacobs et al., "DeepSpeed Ulysses", arXiv 2309.14509, 2023; Miao et al., "Galvatron", VLDB 2023.
#pragma once

#include <string_view>

#include "core/base/error.h"
#include "core/methods/layers/layout.h"

namespace trainyard {

/// The parameter of tensor-parallel that names these layers. A rewrite is given "all" or "none":
/// whether its layer is one.
inline constexpr std::string_view kUlyssesLayers = "ulysses-layers";

/// Makes of a plan's layout that of such a layer. The plan has sequence parallel and no context
/// parallel.
inline void exchange_over_tensor_ranks(Layout& layout) {
  Binding& binding = layout.binding;
  if (binding.tp == 1) return;
  binding.cp = binding.ulysses = binding.tp;
  binding.tp = 1;
  binding.sequence_parallel = false;
  layout.tensor_heads = true;
}

/// Returns what is wrong with the layers that a complete plan names. The degrees have been checked.
Diagnostics check_ulysses_layers(const Scenario&, const Params&);

}  // namespace trainyard
