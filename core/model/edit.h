// This file edits a model's structure: whole blocks and the nodes within them. Each function takes
// a model and returns another, with every shape inferred anew (core/model/refit.h); nothing is
// changed in place.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/model/model.h"

namespace trainyard {

/// A ModelPart names a part of a model by position: the model itself, a block, or a node of a
/// block.
struct ModelPart {
  int block = -1;  // -1: the whole model
  int node = -1;   // -1: the whole block
  friend bool operator==(const ModelPart&, const ModelPart&) = default;
};

/// A BuildingBlock is something that a user may insert into a model: a whole block if `layer` is
/// set, otherwise a node of one.
struct BuildingBlock {
  std::string_view name;     // "decoder"
  std::string_view title;    // "Decoder block"
  std::string_view variant;  // "MHA, SwiGLU"
  bool layer = true;
};
std::span<const BuildingBlock> building_blocks();

// All of these throw Error{InvalidInput} at "BLOCK" or "BLOCK/NODE" when the result would not be a
// valid model, and when a part is out of range.

/// Inserts a block of that kind after `after.block` (-1: before all others), as wide as the data
/// that flows there; or a node after `after.node` (-1: at the beginning of the block). `made` is
/// set to the new part.
Model with_building_block(const Model&, std::string_view name, ModelPart after,
                          ModelPart* made = nullptr);
/// Removes a block or a node. Nodes that read the removed node's output then read its input. A head
/// that was tied to a removed table gets a table of its own.
Model without(const Model&, ModelPart);
/// Inserts a copy of the part right after it. `made` is set to the copy.
Model duplicated(const Model&, ModelPart, ModelPart* made = nullptr);
/// Moves a block `by` places down (up where negative), or swaps a node with its neighbour along the
/// data (by -1 or +1). `moved_to` is set to its new position.
Model moved(const Model&, ModelPart, int by, ModelPart* moved_to = nullptr);
/// Splits a block of count layers into two, the first `first` layers and the rest, so that each can
/// be edited alone. first is from 1 to count - 1.
Model split_block(const Model&, int block, int first);
/// Renames the block and the ties of other blocks to it; the name must be new and not empty.
Model renamed_block(const Model&, int block, const std::string& name);

/// Lets the blocks of that name work on only this percentage of the positions, 1 to 100. BERT's
/// head works on the masked positions only, and no op of a graph selects those. An attribute of
/// nodes, which a model file keeps.
Model with_share_of_positions(Model, std::string_view block, std::int64_t percent);
double share_of_positions(const Node&);

/// Returns a name that no block has yet: the base, or the base and a number.
std::string free_block_name(const Model&, const std::string& base);

}  // namespace trainyard
