// In the context region each context rank has some heads of all tokens, instead of all heads of
// some tokens: recurrences read their sequence step by step, but each head and each channel by
// itself, so that an exchange of heads for tokens (as of Ulysses) is all they need. Attention has a
// choice, with ops of its own (core/methods/parallel/context_parallel.cpp).
//
//   x ── turn to heads ──▶ convolution ──▶ state space ── turn to tokens ──▶ y
//
// Megatron-LM does so for Mamba 2 (its mamba_context_parallel). Where heads share groups, of which
// there are fewer than context ranks, several ranks have heads of one group: each gets a copy of
// the group, and the gradient of a group is the sum of those of its copies.
#pragma once

#include <algorithm>
#include <numeric>

#include "core/methods/layers/body.h"
#include "core/model/ops.h"

namespace trainyard {

/// Returns whether the node reads its sequence step by step, in each head or channel by itself.
inline bool is_headwise_recurrence(const Node& node) {
  return node.op == &causal_convolution() || node.op == &state_space() || node.op == &gated_delta();
}

/// Returns whether what the node gives stays in the context region: a convolution's output does,
/// which the recurrence behind it reads.
inline bool stays_in_heads(const Node& node) { return node.op == &causal_convolution(); }

/// Returns whether a recurrence takes that input into the context region: an activation that no
/// convolution gives.
inline bool enters_heads(const Graph& graph, const Node& node, std::size_t input) {
  const TensorId in = node.inputs[input];
  if (!is_headwise_recurrence(node) || graph[in].kind != TensorKind::Activation) return false;
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& from) {
    return stays_in_heads(from) && from.outputs[0] == in;
  });
}

/// How many copies of each group context ranks need in the context region, of a tensor whose heads
/// share groups, such as B and C of a state space, or of a parameter by channels of groups: where a
/// tensor rank has fewer groups than there are context ranks, several of them have the same.
inline std::int64_t copies_of_groups(const Tensor& tensor, const Binding& binding) {
  const Dim& heads =
      tensor.kind == TensorKind::Parameter ? tensor.shape.front() : tensor.shape.back();
  if (heads.axis != Axis::KvHeads || heads.units == 0) return 1;
  const std::int64_t here = local_size({heads.units, heads.axis, heads.units}, binding);
  return binding.cp / std::gcd(here, std::int64_t{binding.cp});
}

/// Returns how many copies a rank has of what it keeps, or makes, of that tensor of a layer: those
/// of its groups, where a recurrence reads it as ranks have exchanged it.
inline std::int64_t copies_in_region(const Graph& graph, TensorId tensor, const Binding& binding) {
  const bool recurs = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return is_headwise_recurrence(node) &&
           std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end();
  });
  return recurs ? copies_of_groups(graph[tensor], binding) : 1;
}

/// Writes what the ranks that divide a sequence send around attention, recurrences and poolers, and
/// counts the copies of groups that they keep. They are context ranks, or the tensor ranks of a
/// layer that exchanges heads (core/methods/parallel/ulysses_layers.h).
void add_context_traffic(Body&, const Graph&, const Layout&);

}  // namespace trainyard
