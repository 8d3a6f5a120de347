// Trained parts: which weights of a model a plan trains. It may freeze parts of the model, or all
// of it beside low-rank adapters that it adds. The functions return another model, and as_given()
// returns from any of them to the model that the user gave.
//
// Frozen weights have no gradients: nothing is computed, reduced, updated or kept for them.
// Gradients still pass through them to whatever is trained below.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"

namespace trainyard {

/// Returns whether the node's weights are frozen, by the model's file or by a plan.
bool is_frozen(const Node&);
/// Returns whether the node makes no gradient of input i, a parameter: it is frozen, or input i is
/// the pattern of its sparse weight.
bool is_frozen(const Node&, std::size_t i);
/// Returns whether a node makes no gradient of the parameter, which then is not trained.
bool is_frozen(const Graph&, TensorId parameter);
/// Returns the same by tensor of the graph, in one walk over it.
std::vector<bool> frozen_parameters(const Graph&);
/// Returns whether the node is part of an adapter that a plan has added.
bool is_adapter(const Node&);
/// Returns whether an adapter begins as zero because of this parameter, which then is zero: B.
bool begins_at_zero(const Graph&, TensorId parameter);

/// Returns whether any weights of the block are trained.
bool trains(const Block&);
/// Returns whether any weights of the model are frozen.
bool any_frozen(const Model&);
/// Returns whether the gradient of the block's input is needed: weights below it are trained, or it
/// is a layer with trained weights, whose backward is the same in all layers of the block.
bool wants_input_gradient(const Model&, int block);
/// As parameters(), of those that are trained.
std::int64_t trained_parameters(const Model&);

/// Low-rank adaptation (Hu et al. 2021): y = x W + alpha / rank * x A B.
struct LoraSpec {
  std::int64_t rank = 8;                    // of A [in, rank] and B [rank, out], >= 1
  std::int64_t alpha = 8;                   // >= 1
  std::string_view targets = "all-linear";  // words of lora_targets() and names of nodes, separated
                                            // by commas
};

/// Returns the model with all its weights frozen and an adapter beside each targeted linear layer.
/// A product that is cut by columns has a whole A and its B cut by columns; one that is cut by rows
/// has its A cut by rows, whose narrow sums are reduced, and a whole B. The experts of a routed
/// product have an adapter each, where the targets name it or "experts". Embeddings and the head
/// have none. Throws Error{InvalidInput} at `place` for an unknown target, with the nearest, and
/// where a target is in no layer.
Model with_adapters(Model, const LoraSpec&, const Place&);

/// Returns the model with these parts frozen: "embedding" (all before the first layer), "layers",
/// "head" (all after the last layer), "all-but-head" and names of blocks, separated by commas. Of a
/// vision-language model, "vision" is the tower without its projector, and "layers" are the
/// decoder's.
/// Throws Error{InvalidInput} at `place` for an unknown part, with the nearest, and for a part that
/// shares a table with one that is trained.
Model with_frozen(Model, std::string_view parts, const Place&);

/// Returns the model without what a plan has added or frozen; is_as_given() whether that is the
/// model itself.
Model as_given(Model);
bool is_as_given(const Model&);

}  // namespace trainyard
