#include "core/exporters/decoder_spec.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"

namespace trainyard {
namespace {

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.kind == b.kind && a.shape == b.shape && a.tied_to.empty() == b.tied_to.empty();
}

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.attributes == b.attributes;
}

bool same_graph(const Graph& a, const Graph& b) {
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    same_tensor) &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), same_node);
}

bool same_blocks(const std::vector<Block>& a, const std::vector<Block>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Block& one, const Block& other) {
                      return one.count == other.count && one.layer == other.layer &&
                             same_graph(one.graph, other.graph);
                    });
}

// A block that was split so that its halves can be edited is joined again while the halves are
// equal.
std::vector<Block> joined(const std::vector<Block>& blocks) {
  std::vector<Block> whole;
  for (const Block& block : blocks)
    if (!whole.empty() && block.layer && whole.back().layer &&
        same_graph(whole.back().graph, block.graph))
      whole.back().count += block.count;
    else
      whole.push_back(block);
  return whole;
}

std::int64_t last(const Graph& g, TensorId id) { return g[id].shape.back().size; }

const Node* first_of(const Graph& g, const Op& op) {
  for (const Node& node : g.nodes)
    if (node.op == &op) return &node;
  return nullptr;
}

bool is_norm(const Node& node) { return node.op == &layer_norm() || node.op == &rms_norm(); }
bool has_bias(const Node& node) { return node.op == &matmul() && node.inputs.size() == 3; }

const Node* maker(const Graph& g, TensorId id) {
  for (const Node& node : g.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end()) return &node;
  return nullptr;
}

void read_embedding(const Graph& g, std::int64_t longest, TransformerSpec& spec) {
  spec.positions = Positions::Alibi;
  for (const Node& node : g.nodes) {
    if (is_norm(node)) spec.embedding_norm = true;
    if (node.op == &dropout()) spec.dropout = true;
    if (node.op != &embedding()) continue;
    const Shape &ids = g[node.inputs[0]].shape, &table = g[node.inputs[1]].shape;
    if (table[0].axis == Axis::Vocab) {
      spec.vocab = table[0].size;
      spec.embedding_width = table[1].size == spec.hidden ? 0 : table[1].size;
      spec.scaled_embedding = attribute(node, "scaled") != 0;
    } else if (ids.back().axis == Axis::Batch) {
      spec.token_types = table[0].size;
    } else {
      spec.positions = Positions::Learned;
      spec.position_offset = table[0].size - longest;
    }
  }
}

void read_head(const Graph& g, TransformerSpec& spec) {
  spec.hidden = last(g, g.input);
  spec.final_norm = false;
  for (const Node& node : g.nodes) {
    if (is_norm(node)) spec.final_norm = true;
    if (node.op != &matmul() || g[node.inputs[1]].shape.back().axis != Axis::Vocab) continue;
    spec.tied = !g[node.inputs[1]].tied_to.empty();
    spec.head_bias = has_bias(node);
  }
}

// Reads the sizes of latent attention from concat_heads and the products before it.
void read_latent(const Graph& g, const Node& attend, TransformerSpec& spec) {
  const Node* keys = first_of(g, concat_heads());
  if (keys == nullptr) return;
  LatentSpec& latent = spec.latent;
  latent.nope = last(g, keys->inputs[0]) / spec.heads;
  latent.rope = last(g, keys->inputs[1]);
  latent.value = last(g, attend.inputs[2]) / spec.heads;
  if (const Node* up = maker(g, keys->inputs[0])) latent.kv_rank = last(g, up->inputs[0]);
  const Node* turned = maker(g, attend.inputs[0]);
  const Node* product = turned == nullptr ? nullptr : maker(g, turned->inputs[0]);
  const Node* before = product == nullptr ? nullptr : maker(g, product->inputs[0]);
  if (before != nullptr && before != &g.nodes.front() && is_norm(*before))
    latent.q_rank = last(g, product->inputs[0]);
}

void read_attention(const Graph& g, const Node& attend, TransformerSpec& spec) {
  spec.heads = attribute(attend, "heads");
  spec.kv_heads = attribute(attend, "kv_heads", spec.heads);
  spec.window = attribute(attend, "window");
  spec.attention_dropout = attribute(attend, "dropout") != 0;
  read_latent(g, attend, spec);
  if (spec.latent.kv_rank == 0) spec.head_dim = last(g, attend.inputs[0]) / spec.heads;
  spec.fused_qkv = first_of(g, split_qkv()) != nullptr;
  if (first_of(g, rotary()) != nullptr) spec.positions = Positions::Rotary;
  bool before = true, out = true;
  for (const Node& node : g.nodes) {
    if (&node == &attend) {
      before = false;
    } else if (before) {
      spec.qkv_bias = spec.qkv_bias || has_bias(node);
      spec.head_norm = spec.head_norm ||
                       (is_norm(node) && spec.latent.kv_rank == 0 &&
                        last(g, node.inputs[1]) == spec.head_dim && spec.head_dim != spec.hidden);
      spec.wide_head_norm = spec.wide_head_norm ||
                            (is_norm(node) && g[node.inputs[1]].shape.back().axis == Axis::Heads);
    } else if (node.op == &matmul()) {
      bool& bias = out ? spec.out_bias : spec.mlp_bias;
      bias = bias || has_bias(node);
      out = false;
    }
  }
}

void read_feed_forward(const Graph& g, TransformerSpec& spec) {
  for (const Node& node : g.nodes) {
    if (is_norm(node) && node.op == &layer_norm())
      spec.norm = node.inputs.size() == 3 ? NormKind::Layer : NormKind::LayerWithoutBias;
    if (is_norm(node) && node.op == &rms_norm())
      spec.norm = attribute(node, "unit_offset") != 0 ? NormKind::RmsUnitOffset : NormKind::Rms;
    const bool gated = node.op == &gated_silu() || node.op == &gated_gelu();
    if (!gated && node.op != &gelu() && node.op != &relu() && node.op != &squared_relu()) continue;
    spec.activation = node.op == &gated_silu()   ? Activation::GatedSilu
                      : node.op == &gated_gelu() ? Activation::GatedGelu
                      : node.op == &gelu()       ? Activation::Gelu
                      : node.op == &relu()       ? Activation::Relu
                                                 : Activation::SquaredRelu;
    const Node* from = maker(g, node.inputs[0]);
    const std::int64_t width = last(g, node.inputs[0]);
    if (from != nullptr && from->op == &routed_matmul())
      spec.experts.ffn = width;
    else if (first_of(g, router()) != nullptr)
      spec.experts.shared = spec.experts.ffn > 0 ? width / spec.experts.ffn : 0;
    else
      spec.ffn = width;
  }
  const Node* routing = first_of(g, router());
  if (routing == nullptr) return;
  spec.experts.count = last(g, routing->inputs[1]);
  spec.experts.top_k = attribute(*routing, "top_k");
  spec.experts.groups = attribute(*routing, "groups");
  spec.experts.chosen_groups = attribute(*routing, "chosen_groups");
  spec.experts.router_bias = routing->inputs.size() == 3;
}

std::optional<TransformerSpec> read(const Model& model, const std::vector<Block>& blocks) {
  if (!model.tokens || blocks.size() < 3 || blocks.size() > 4 || blocks.front().layer ||
      blocks.back().layer)
    return std::nullopt;
  TransformerSpec spec = family_spec("llama");
  spec.name = model.name;
  spec.sequence = model.sequence;
  read_head(blocks.back().graph, spec);
  read_embedding(blocks.front().graph, model.sequence, spec);
  for (std::size_t i = 1; i + 1 < blocks.size(); ++i) {
    const Graph& g = blocks[i].graph;
    const Node* attend = first_of(g, attention());
    if (!blocks[i].layer || attend == nullptr) return std::nullopt;
    spec.layers += blocks[i].count;
    read_attention(g, *attend, spec);
    read_feed_forward(g, spec);
  }
  if (blocks.size() == 4) spec.experts.dense_layers = blocks[1].count;
  if (spec.ffn == 0) spec.ffn = spec.experts.ffn;
  return spec;
}

// Returns the ways in which a layer's parts may be connected, because sizes do not distinguish
// them.
std::vector<TransformerSpec> arrangements(const TransformerSpec& spec) {
  std::vector<TransformerSpec> all(6, spec);
  all[1].parallel = true;
  all[2].parallel = all[2].one_norm = true;
  all[3].post_norm = true;
  all[4].sandwich_norm = true;
  all[5].reordered_norm = true;
  return all;
}

}  // namespace

std::optional<TransformerSpec> decoder_spec(const Model& model) {
  if (any_frozen(model)) {
    const Model given = as_given(model);
    return any_frozen(given) ? std::nullopt : decoder_spec(given);
  }
  const std::vector<Block> blocks = joined(model.blocks);
  const std::optional<TransformerSpec> read_back = read(model, blocks);
  if (!read_back) return std::nullopt;
  for (const TransformerSpec& spec : arrangements(*read_back)) {
    try {
      if (same_blocks(build_decoder(spec).blocks, blocks)) return spec;
    } catch (const Error&) {
      return std::nullopt;  // sizes that do not fit each other
    }
  }
  return std::nullopt;
}

}  // namespace trainyard
