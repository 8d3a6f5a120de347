// Edits of a model's structure: whole blocks and the nodes within them. Each takes a model and
// gives another, every shape inferred anew (core/model/refit.h); nothing is changed in place.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/model/model.h"

namespace trainyard {

/// A part of a model by position: the model itself, a block, or a node of a block.
struct ModelPart {
  int block = -1;  // -1: the whole model
  int node = -1;   // -1: the whole block
  friend bool operator==(const ModelPart&, const ModelPart&) = default;
};

/// What someone may put into a model. `layer`: a whole block; otherwise a node of one.
struct BuildingBlock {
  std::string_view name;     // "decoder"
  std::string_view title;    // "Decoder block"
  std::string_view variant;  // "MHA, SwiGLU"
  bool layer = true;
};
std::span<const BuildingBlock> building_blocks();

// All throw Error{InvalidInput} at "BLOCK" or "BLOCK/NODE" with a sentence when the result would
// not be a model; parts out of range are refused the same way.

/// A block of that kind behind `after.block` (-1: first of all), as wide as what flows there; or a
/// node behind `after.node` (-1: at the beginning of the block). `made` becomes the new part.
Model with_building_block(const Model&, std::string_view name, ModelPart after,
                          ModelPart* made = nullptr);
/// Without a block, or without a node: what read the node then reads what the node read. A head
/// that shared a table which goes keeps one of its own.
Model without(const Model&, ModelPart);
/// The part once more, behind itself. `made` becomes the copy.
Model duplicated(const Model&, ModelPart, ModelPart* made = nullptr);
/// A block that many places down (or up, negative); a node one place along the data (by -1 or +1),
/// with whom it changes places. `moved_to` becomes its new position.
Model moved(const Model&, ModelPart, int by, ModelPart* moved_to = nullptr);
/// A block of count layers as two: the first `first` of them and the rest, so that each can be
/// edited alone. first from 1 to count - 1.
Model split_block(const Model&, int block, int first);
/// The block renamed, ties of other blocks with it; the name must be new and not empty.
Model renamed_block(const Model&, int block, const std::string& name);

// Two attributes that a node of any op may have say how much of it is trained. A model file keeps
// them.

/// Low-rank adaptation and its like (Hu et al. 2021): no gradients of the weights, nothing to
/// reduce or to update. The adapters themselves are left out: some thousandths of the work.
Model frozen(Model);
bool is_frozen(const Node&);
/// The blocks of that name work on so many percent of the positions only, 1 to 100: BERT's head
/// on those that are masked, which no op of a graph selects.
Model with_share_of_positions(Model, std::string_view block, std::int64_t percent);
double share_of_positions(const Node&);

/// A name that no block has yet: the base, or the base and a number.
std::string free_block_name(const Model&, const std::string& base);

}  // namespace trainyard
