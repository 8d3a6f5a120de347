// This file builds the parts of a transformer layer with the tensor split of Shoeybi et al. 2019:
// Column products enter the tensor region, Row products leave it.
#include "core/base/error.h"
#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

Dim head_dims(std::int64_t heads, std::int64_t width) {
  return {heads * width, Axis::Heads, heads};
}
Dim kv_dims(std::int64_t heads, std::int64_t width) {
  return {heads * width, Axis::KvHeads, heads};
}

}  // namespace

TensorId TransformerLayer::positioned(std::string_view name, TensorId x) {
  if (spec.positions != Positions::Rotary) return x;
  return builder.node(name, rotary(), {x}, grid, TensorSplit::Inside);
}

TensorId TransformerLayer::head_normed(std::string_view name, TensorId x) {
  if (spec.head_norm) return builder.norm(name, x, spec.norm, spec.head_dim);
  return spec.wide_head_norm ? builder.norm(name, x, spec.norm, builder.graph[x].shape.back()) : x;
}

TensorId TransformerLayer::attend(std::string_view name, TensorId q, TensorId k, TensorId v,
                                  std::int64_t kv_heads, bool is_causal) {
  std::vector<TensorId> inputs = {q, k, v};
  if (position_bias.valid()) inputs.push_back(position_bias);
  if (spec.sinks) inputs.push_back(builder.parameter("sinks", {head_dims(spec.heads, 1)}));
  std::map<std::string, std::int64_t> attributes = {{"heads", spec.heads},
                                                    {"kv_heads", kv_heads},
                                                    {"causal", is_causal ? 1 : 0},
                                                    {"window", spec.window},
                                                    {"dropout", spec.attention_dropout ? 1 : 0}};
  if (spec.chunk > 0) attributes["chunk"] = spec.chunk;
  if (!grid.empty()) attributes["undivided"] = 1;
  if (windowed) attributes["windowed"] = 1;
  return builder.node(name, attention(), std::move(inputs), std::move(attributes),
                      TensorSplit::Inside);
}

TensorId TransformerLayer::self_attention(TensorId x) {
  if (spec.latent.kv_rank > 0) return latent_attention(x);
  const LayerNames& names = spec.names;
  const Dim q_out = head_dims(spec.heads, spec.head_dim),
            kv_out = kv_dims(spec.kv_heads, spec.head_dim);
  TensorId q, k, v;
  if (spec.fused_qkv && spec.kv_heads == spec.heads) {
    const TensorId qkv = builder.linear(names.qkv, x, head_dims(spec.heads, 3 * spec.head_dim),
                                        spec.qkv_bias, TensorSplit::Column);
    q = builder.node("qkv", split_qkv(), {qkv}, {{"heads", spec.heads}}, TensorSplit::Inside);
    k = TensorId{q.value + 1};
    v = TensorId{q.value + 2};
  } else {
    q = builder.linear(names.q, x, q_out, spec.qkv_bias, TensorSplit::Column);
    k = builder.linear(names.k, x, kv_out, spec.qkv_bias, TensorSplit::Column);
    v = builder.linear(names.v, x, kv_out, spec.qkv_bias, TensorSplit::Column);
  }
  q = positioned("rotary_q", head_normed("q_norm", q));
  k = positioned("rotary_k", head_normed("k_norm", k));
  TensorId mixed = attend("attention", q, k, v, spec.kv_heads, causal);
  if (spec.attention_gate) {
    const TensorId gate =
        builder.linear("attention_gate_proj", x, q_out, spec.qkv_bias, TensorSplit::Column);
    mixed = builder.node("attention_gate", sigmoid_gate(), {gate, mixed}, {}, TensorSplit::Inside);
  }
  return builder.linear(names.out, mixed, whole(spec.hidden), spec.out_bias, TensorSplit::Row);
}

// kv_a_proj_with_mqa and kv_b_proj are each written as two products for their two column ranges:
// the compressed and the rotated part, and keys and values. Every rank computes the whole
// down-projections; heads are divided after the norms.
TensorId TransformerLayer::latent_attention(TensorId x) {
  const LatentSpec& latent = spec.latent;
  const Dim q_out = head_dims(spec.heads, latent.nope + latent.rope);
  TensorId q = x;
  if (latent.q_rank > 0) {
    q = builder.linear("q_a_proj", x, whole(latent.q_rank), spec.qkv_bias);
    q = builder.norm("q_a_layernorm", q, spec.norm, latent.q_rank);
    q = builder.linear("q_b_proj", q, q_out, false, TensorSplit::Column);
  } else {
    q = builder.linear("q_proj", x, q_out, false, TensorSplit::Column);
  }
  TensorId compressed = builder.linear("kv_a_proj", x, whole(latent.kv_rank), spec.qkv_bias);
  const TensorId k_rope = builder.linear("k_rope_proj", x, whole(latent.rope), spec.qkv_bias);
  compressed = builder.norm("kv_a_layernorm", compressed, spec.norm, latent.kv_rank);
  const TensorId k_own = builder.linear("k_b_proj", compressed, head_dims(spec.heads, latent.nope),
                                        false, TensorSplit::Column);
  const TensorId v = builder.linear("v_b_proj", compressed, head_dims(spec.heads, latent.value),
                                    false, TensorSplit::Column);
  q = builder.node("rotary_q", rotary(), {q}, {}, TensorSplit::Inside);
  const TensorId turned = builder.node("rotary_k", rotary(), {k_rope});
  const TensorId k = builder.node("k", concat_heads(), {k_own, turned}, {}, TensorSplit::Inside);
  const TensorId mixed = attend("attention", q, k, v, spec.heads, causal);
  return builder.linear("o_proj", mixed, whole(spec.hidden), spec.out_bias, TensorSplit::Row);
}

TensorId TransformerLayer::cross_attention(TensorId x, TensorId memory, std::string_view prefix) {
  const std::string base(prefix);
  const LayerNames& names = spec.names;
  const Dim width = head_dims(spec.heads, spec.head_dim);
  const TensorId q =
      builder.linear(base + std::string(names.q), x, width, spec.qkv_bias, TensorSplit::Column);
  const TensorId k = builder.linear(base + std::string(names.k), memory, width, spec.qkv_bias,
                                    TensorSplit::Column);
  const TensorId v = builder.linear(base + std::string(names.v), memory, width, spec.qkv_bias,
                                    TensorSplit::Column);
  const TensorId kept_bias = position_bias;
  position_bias = {};
  const TensorId mixed = attend(base + "attention", q, k, v, spec.heads, false);
  position_bias = kept_bias;
  return builder.linear(base + std::string(names.out), mixed, whole(spec.hidden), spec.out_bias,
                        TensorSplit::Row);
}

TensorId TransformerLayer::dense_feed_forward(TensorId x, std::string_view prefix,
                                              std::int64_t width) {
  const std::string base(prefix);
  const LayerNames& names = spec.names;
  const Dim inner{width, Axis::Ffn, 0};
  const bool gated =
      spec.activation == Activation::GatedSilu || spec.activation == Activation::GatedGelu;
  const std::string act = base + "act";
  TensorId h;
  if (gated) {
    const TensorId gate = builder.linear(base + std::string(names.gate), x, inner, spec.mlp_bias,
                                         TensorSplit::Column);
    const TensorId up =
        builder.linear(base + std::string(names.up), x, inner, spec.mlp_bias, TensorSplit::Column);
    const Op& op = spec.activation == Activation::GatedSilu ? gated_silu() : gated_gelu();
    h = builder.node(act, op, {gate, up}, {}, TensorSplit::Inside);
  } else {
    const TensorId up =
        builder.linear(base + std::string(names.up), x, inner, spec.mlp_bias, TensorSplit::Column);
    const Op& op = spec.activation == Activation::SquaredRelu ? squared_relu()
                   : spec.activation == Activation::Relu      ? relu()
                                                              : gelu();
    h = builder.node(act, op, {up}, {}, TensorSplit::Inside);
  }
  return builder.linear(base + std::string(names.down), h, whole(spec.hidden), spec.mlp_bias,
                        TensorSplit::Row);
}

TensorId TransformerLayer::experts(TensorId x) {
  const ExpertsSpec& e = spec.experts;
  const Dim count{e.count, Axis::Experts, 0}, inner{e.ffn, Axis::ExpertFfn, 0};
  const std::map<std::string, std::int64_t> top_k = {{"top_k", e.top_k}};
  std::vector<TensorId> routed = {
      x, builder.parameter("router.weight", {whole(spec.hidden), whole(e.count)})};
  if (e.router_bias) routed.push_back(builder.parameter("router.bias", {whole(e.count)}));
  std::map<std::string, std::int64_t> choice = top_k;
  if (e.groups > 1) choice["groups"] = e.groups, choice["chosen_groups"] = e.chosen_groups;
  const TensorId scores = builder.node("router", router(), std::move(routed), choice);
  const TensorId copies =
      builder.node("dispatch", dispatch(), {x, scores}, {}, TensorSplit::Routed);
  const auto product = [&](const std::string& name, TensorId from, Dim in, Dim out,
                           TensorSplit split) {
    std::vector<TensorId> inputs = {from, builder.parameter(name + ".weight", {count, in, out})};
    if (e.bias) inputs.push_back(builder.parameter(name + ".bias", {count, out}));
    return builder.node(name, routed_matmul(), std::move(inputs), top_k, split);
  };
  const bool gated = spec.activation != Activation::SquaredRelu;
  std::vector<TensorId> made;
  if (gated)
    made.push_back(
        product("experts.gate_proj", copies, whole(spec.hidden), inner, TensorSplit::Column));
  made.push_back(
      product("experts.up_proj", copies, whole(spec.hidden), inner, TensorSplit::Column));
  const TensorId h = builder.node("experts.act", gated ? gated_silu() : squared_relu(),
                                  std::move(made), {}, TensorSplit::Inside);
  const TensorId down =
      product("experts.down_proj", h, inner, whole(spec.hidden), TensorSplit::Row);
  const TensorId out = builder.node("combine", combine(), {down, scores}, {}, TensorSplit::Routed);
  const std::int64_t shared_ffn = e.shared_ffn > 0 ? e.shared_ffn : e.shared * e.ffn;
  if (shared_ffn == 0) return out;
  TensorId shared = dense_feed_forward(x, "shared_experts.", shared_ffn);
  if (e.shared_gate)
    shared = builder.node("shared_experts.gated", sigmoid_gate(),
                          {builder.linear("shared_experts.gate", x, whole(1), false), shared});
  return builder.residual("shared_experts.add", out, shared);
}

TensorId TransformerLayer::feed_forward(TensorId x) { return dense_feed_forward(x, "", spec.ffn); }

TensorId TransformerLayer::whole_layer(TensorId x, bool dense) {
  const LayerNames& names = spec.names;
  const auto attend_and_drop = [&](TensorId h) { return drop("attention_dropout", mix(h)); };
  const auto feed_and_drop = [&](TensorId h) {
    return drop("mlp_dropout", dense || spec.experts.count == 0 ? feed_forward(h) : experts(h));
  };
  if (spec.post_norm) {
    x = norm(names.attention_norm, builder.residual("attention_add", x, attend_and_drop(x)));
    return norm(names.mlp_norm, builder.residual("mlp_add", x, feed_and_drop(x)));
  }
  if (spec.reordered_norm) {
    x = builder.residual("attention_add", x, norm(names.attention_norm, attend_and_drop(x)));
    return builder.residual("mlp_add", x, norm(names.mlp_norm, feed_and_drop(x)));
  }
  const TensorId normed = norm(names.attention_norm, x);
  if (spec.mixer == Mixer::None) return builder.residual("mlp_add", x, feed_and_drop(normed));
  TensorId mixed = attend_and_drop(normed);
  if (spec.parallel) {
    const TensorId fed = feed_and_drop(spec.one_norm ? normed : norm(names.mlp_norm, x));
    return builder.residual("mlp_add", builder.residual("attention_add", x, mixed), fed);
  }
  const auto scaled = [&](std::string_view name, TensorId h) {
    if (!spec.layer_scale) return h;
    const TensorId weight = builder.parameter(std::string(name) + ".weight", {whole(spec.hidden)});
    return builder.node(name, layer_scale(), {h, weight});
  };
  if (spec.sandwich_norm) mixed = norm("post_attention_layernorm", mixed);
  mixed = scaled("lambda_1", mixed);
  x = builder.residual("attention_add", x, mixed);
  if (!spec.feed_forward) return x;
  TensorId fed = feed_and_drop(norm(names.mlp_norm, x));
  if (spec.sandwich_norm) fed = norm("post_feedforward_layernorm", fed);
  fed = scaled("lambda_2", fed);
  return builder.residual("mlp_add", x, fed);
}

}  // namespace trainyard
