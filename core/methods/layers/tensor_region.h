// The tensor region is where each tensor-parallel rank has a part of a layer's heads or columns.
// These functions say where a layer enters it otherwise than by a product, and which of its norms
// need what other ranks have.
#pragma once

#include <optional>

#include "core/methods/layers/body.h"
#include "core/model/ops.h"

namespace trainyard {

/// Returns whether the node takes that input into the tensor region: every rank reads all of it,
/// and makes of its gradient what its own part of the node gives. Column-cut products do, the first
/// Mamba's scan does with B and C, which all its channels share, and latent attention does with the
/// rotary part of the keys, which all heads share.
inline bool enters_region(const Node& node, std::size_t input) {
  if (node.split == TensorSplit::Column) return input == 0;
  if (node.split != TensorSplit::Inside) return false;
  return (node.op == &selective_scan() && (input == 2 || input == 3)) ||
         (node.op == &concat_heads() && input == 1);
}

/// Returns the pass of backward in which the node reads again what it took in, if it does: a
/// product for the gradient of its weights, a scan for all its gradients.
inline std::optional<Pass> reads_entered_again(const Node& node) {
  if (node.split == TensorSplit::Column) return Pass::BackwardWeight;
  if (node.op == &selective_scan()) return Pass::BackwardInput;
  return std::nullopt;
}

/// Returns whether the node does so with that tensor, as any of its inputs.
inline bool enters_region(const Node& node, TensorId tensor) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] == tensor && enters_region(node, i)) return true;
  return false;
}

/// Returns whether the node takes all tokens of that input, into the tensor region or not: the
/// first token of a sequence, which each rank takes for itself, needs no sum of its gradients.
inline bool takes_whole(const Node& node, std::size_t input) {
  return enters_region(node, input) || node.op == &first_token();
}
inline bool takes_whole(const Node& node, TensorId tensor) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] == tensor && takes_whole(node, i)) return true;
  return false;
}

inline bool is_row_norm(const Node& node) {
  return node.op == &layer_norm() || node.op == &rms_norm();
}

/// Returns whether the node is a norm over rows of which each tensor rank has a part, as that over
/// all heads of queries (OLMo 2).
inline bool divides_rows(const Graph& graph, const Node& node, const Binding& binding) {
  return binding.tp > 1 && is_row_norm(node) &&
         parts(graph[node.inputs[1]].shape.back(), binding) > 1;
}

/// Returns whether a collective of the node is the all-reduce in which ranks average what each has
/// found of its part of a norm: tensor ranks of a row, replicas of the samples of a batch norm
/// (core/methods/parallel/batch_norm_statistics.cpp). It goes before the norm, forward and
/// backward, and reads what the norm reads.
inline bool averages_means(const Node& node, Group group) {
  return group == Group::Tensor ? is_row_norm(node) : node.op == &batch_norm();
}
inline bool averages_means(const Graph& graph, const BodyOp& op) {
  return op.communication && op.node.valid() && averages_means(graph[op.node], op.group);
}

}  // namespace trainyard
