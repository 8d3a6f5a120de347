// This file holds what the builders share: a graph under construction and the few shapes of which
// every network is made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/graph.h"
#include "core/model/ops.h"
#include "core/model/zoo/builders.h"

namespace trainyard {

inline Dim whole(std::int64_t size) { return {size, Axis::None, 0}; }
inline constexpr Dim kBatch{0, Axis::Batch, 0};
inline constexpr Dim kSequence{0, Axis::Sequence, 0};

struct GraphBuilder {
  Graph graph;

  TensorId parameter(std::string name, Shape shape, std::string tied_to = {}) {
    return graph.add(
        Tensor{std::move(name), std::move(shape), TensorKind::Parameter, std::move(tied_to)});
  }
  TensorId index(std::string name, Shape shape) {
    return graph.add(Tensor{std::move(name), std::move(shape), TensorKind::Index, {}});
  }
  TensorId activation(std::string name, Shape shape) {
    return graph.add(Tensor{std::move(name), std::move(shape), TensorKind::Activation, {}});
  }
  /// The data that flows between layers: tokens in the sequence region.
  TensorId hidden_input(std::int64_t width, Dim sequence = {0, Axis::SequenceRegion, 0}) {
    return graph.input = activation("input", {sequence, kBatch, whole(width)});
  }

  TensorId node(std::string_view name, const Op& op, std::vector<TensorId> inputs,
                std::map<std::string, std::int64_t> attributes = {},
                TensorSplit split = TensorSplit::None) {
    return graph.add(std::string(name), op, std::move(inputs), std::move(attributes), split);
  }
  /// Adds a product with the weight [last dimension of x, out], named NAME.weight, and a bias
  /// NAME.bias if wanted.
  TensorId linear(std::string_view name, TensorId x, Dim out, bool bias,
                  TensorSplit split = TensorSplit::None, std::string tied_to = {},
                  bool leaf = false);
  TensorId norm(std::string_view name, TensorId x, NormKind kind, std::int64_t width) {
    return norm(name, x, kind, whole(width));
  }
  TensorId norm(std::string_view name, TensorId x, NormKind kind, Dim width);
  TensorId residual(std::string_view name, TensorId x, TensorId branch) {
    return node(name, add(), {branch, x});
  }
  TensorId loss(TensorId logits, TensorSplit split = TensorSplit::None);

  /// Makes the block from the graph and sets its output.
  Block block(std::string name, std::int64_t count, bool layer, TensorId output);
};

/// TransformerLayer builds the parts of a transformer layer from a spec.
struct TransformerLayer {
  const TransformerSpec& spec;
  GraphBuilder builder = {};
  bool causal = false;
  TensorId position_bias = {};  // Positions::Relative only, in the first layer of a stack
  /// The attributes of the grid of patches (core/model/patch_grid.h) of a vision tower. No ranks
  /// divide its tokens. Empty = a sequence.
  std::map<std::string, std::int64_t> grid = {};
  bool windowed = false;  // whether its chunk is a window of an image, and not a whole one

  TensorId norm(std::string_view name, TensorId x) {
    return builder.norm(name, x, spec.norm, spec.hidden);
  }
  TensorId drop(std::string_view name, TensorId x) {
    return spec.dropout ? builder.node(name, dropout(), {x}) : x;
  }
  /// Self attention without norm and residual.
  TensorId self_attention(TensorId x);
  /// Queries come from x, keys and values from memory. prefix goes before node names ("" or
  /// "decoder.").
  TensorId cross_attention(TensorId x, TensorId memory, std::string_view prefix);
  TensorId feed_forward(TensorId x);
  TensorId dense_feed_forward(TensorId x, std::string_view prefix, std::int64_t width);
  /// A whole layer, with norms and residuals as the spec says; dense leaves out experts.
  TensorId whole_layer(TensorId x, bool dense);

 private:
  TensorId mix(TensorId x);
  TensorId latent_attention(TensorId x);
  TensorId state_space_mixer(TensorId x);
  TensorId selective_scan_mixer(TensorId x);
  TensorId gated_delta_mixer(TensorId x);
  TensorId convolved(const std::string& name, TensorId x, std::int64_t taps, bool bias);
  TensorId experts(TensorId x);
  TensorId attend(std::string_view name, TensorId q, TensorId k, TensorId v, std::int64_t kv_heads,
                  bool is_causal);
  TensorId positioned(std::string_view name, TensorId x);
  TensorId head_normed(std::string_view name, TensorId x);
};

/// Fills in what a spec leaves 0 and refuses a spec that cannot be built.
TransformerSpec completed(TransformerSpec);

/// Adds the nodes of the embedding block: table, positions, segment table, norm, dropout. Returns
/// the hidden states.
TensorId embed(GraphBuilder&, const TransformerSpec&, std::string_view ids,
               const std::string& tied_to = {});
/// Makes the block of final norm, output head and loss of a language model. tied_to names the table
/// that a tied head shares.
Block language_head(const TransformerSpec&, const std::string& tied_to);
Model empty_model(const TransformerSpec&);

}  // namespace trainyard
