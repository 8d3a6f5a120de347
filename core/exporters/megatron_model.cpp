#include "core/exporters/megatron_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/exporters/decoder_spec.h"

namespace trainyard {
namespace {

constexpr std::string_view kPlace = "model";
constexpr std::int64_t kVocabularyMultiple = 128;  // --make-vocab-size-divisible-by

using Arguments = std::vector<std::string>;

template <class... Values>
void add(Arguments& to, fmt::format_string<Values...> text, Values&&... values) {
  to.push_back(fmt::format(text, std::forward<Values>(values)...));
}

void attention(const TransformerSpec& spec, Arguments& to) {
  if (spec.latent.kv_rank > 0) {
    add(to, "--multi-latent-attention");
    if (spec.latent.q_rank > 0) add(to, "--q-lora-rank {}", spec.latent.q_rank);
    add(to, "--kv-lora-rank {}", spec.latent.kv_rank);
    add(to, "--qk-head-dim {}", spec.latent.nope);
    add(to, "--qk-pos-emb-head-dim {}", spec.latent.rope);
    add(to, "--v-head-dim {}", spec.latent.value);
    add(to, "--qk-layernorm");
    return;
  }
  add(to, "--kv-channels {}", spec.head_dim);
  if (spec.kv_heads != spec.heads) {
    add(to, "--group-query-attention");
    add(to, "--num-query-groups {}", spec.kv_heads);
  }
  if (spec.head_norm) add(to, "--qk-layernorm");
  if (spec.window > 0) add(to, "--window-size '{},0'", spec.window - 1);
}

void routed_layers(const TransformerSpec& spec, const Plan& plan, Arguments& to, Limits& limits) {
  const ExpertsSpec& e = spec.experts;
  if (e.count == 0) return;
  add(to, "--num-experts {}", e.count);
  add(to, "--moe-router-topk {}", e.top_k);
  if (e.groups > 1) {
    add(to, "--moe-router-num-groups {}", e.groups);
    add(to, "--moe-router-group-topk {}", e.chosen_groups);
  }
  add(to, "--moe-ffn-hidden-size {}", e.ffn);
  if (e.shared > 0) add(to, "--moe-shared-expert-intermediate-size {}", e.shared * e.ffn);
  if (e.dense_layers > 0)
    add(to, "--moe-layer-freq '([0]*{}+[1]*{})'", e.dense_layers, spec.layers - e.dense_layers);
  // The program has a balancing bias for experts only with sigmoid scores. In a model where all
  // products have biases, the router's bias is an ordinary one and needs no argument.
  if (e.router_bias && !spec.out_bias) {
    add(to, "--moe-router-score-function sigmoid");
    add(to, "--moe-router-enable-expert-bias");
  } else if (e.top_k == 1) {
    add(to, "--moe-router-pre-softmax");  // softmax over a single score has no gradient
  }
  // The experts of a rank are computed as one grouped product, which does not exist in fp16 and
  // fp32.
  if (find_choice(plan, "fp16") == nullptr && find_choice(plan, "fp32") == nullptr)
    add(to, "--moe-grouped-gemm");
  limits.warn(kPlace,
              "the model does not say how its router is balanced: --moe-aux-loss-coeff and "
              "--moe-router-load-balancing-type stand as the program has them");
}

void activation(const TransformerSpec& spec, Arguments& to) {
  if (spec.activation == Activation::GatedSilu) add(to, "--swiglu");
  if (spec.activation == Activation::SquaredRelu) add(to, "--squared-relu");
}

// The program can have all biases, none, or only those of queries, keys and values.
void biases(const TransformerSpec& spec, Arguments& to) {
  if (spec.out_bias && spec.mlp_bias && spec.qkv_bias) return;
  add(to, "--disable-bias-linear");
  if (spec.qkv_bias) add(to, "--add-qkv-bias");
}

void positions(const TransformerSpec& spec, std::int64_t longest, Arguments& to, Limits& limits) {
  add(to, "--max-position-embeddings {}", longest);
  const bool rotary = spec.positions == Positions::Rotary;
  add(to, "--position-embedding-type {}",
      rotary                                 ? "rope"
      : spec.positions == Positions::Learned ? "learned_absolute"
                                             : "none");
  limits.warn(kPlace, fmt::format("not modelled: {}"
                                  "--norm-epsilon and the initialisation are the program's",
                                  rotary ? "--rotary-base and rope scaling, " : ""));
}

// A PartByHand is a part of the model that has no argument, in words.
struct PartByHand {
  bool there = false;
  bool weighs = false;  // without it the program would build other weights, and not only compute
                        // differently
  std::string_view part;
};

// Returns the parts that the model has, either those that change the weights or the others.
std::vector<std::string_view> parts_by_hand(const TransformerSpec& spec, bool weighs) {
  const PartByHand parts[] = {
      {spec.positions == Positions::Alibi, false, "position biases, or no positions at all"},
      {spec.position_offset != 0, false, "a position table with rows before the first position"},
      {spec.token_types > 0, true, "segment embeddings"},
      {spec.embedding_norm, true, "a norm behind the embedding"},
      {spec.scaled_embedding, false, "an embedding that is scaled"},
      {spec.embedding_width > 0, true, "an embedding narrower than the layers"},
      {spec.head_bias, true, "a bias in the output head"},
      {!spec.final_norm, true, "no norm before the output head"},
      {spec.parallel, spec.one_norm, "attention and feed-forward side by side"},
      {spec.post_norm, false, "norms behind the residual sums"},
      {spec.sandwich_norm, true, "norms on both sides of each part"},
      {spec.reordered_norm, true, "norms behind the parts only"},
      {spec.wide_head_norm, true, "a norm over all heads of queries and of keys"},
      {spec.norm == NormKind::LayerWithoutBias, true, "layer norms without biases"},
      {spec.activation == Activation::Relu, false, "ReLU"},
      {spec.activation == Activation::GatedGelu, true, "a gate of GELU"},
      {spec.out_bias != spec.mlp_bias || (spec.out_bias && !spec.qkv_bias), true,
       "biases in some products only"}};
  std::vector<std::string_view> found;
  for (const PartByHand& part : parts)
    if (part.there && part.weighs == weighs) found.push_back(part.part);
  return found;
}

std::int64_t vocabulary(const Model& model) {
  const std::optional<TransformerSpec> spec = decoder_spec(model);
  return spec ? spec->vocab : 0;
}

void padding(const TransformerSpec& spec, int tp, Limits& limits) {
  const std::int64_t multiple = kVocabularyMultiple * tp;
  const std::int64_t padded = (spec.vocab + multiple - 1) / multiple * multiple;
  if (padded == spec.vocab) return;
  limits.warn(kPlace,
              fmt::format("the vocabulary of {} is padded to {}, a multiple of {} x tp {}: {} more "
                          "rows in {}",
                          spec.vocab, padded, kVocabularyMultiple, tp, padded - spec.vocab,
                          spec.tied ? "the table" : "the table and the head"));
}

}  // namespace

std::vector<std::string> megatron_model(const Scenario& s, Limits& limits) {
  Arguments to;
  const std::optional<TransformerSpec> found = decoder_spec(s.model);
  if (!found) {
    limits.refuse(kPlace, fmt::format("pretrain_gpt.py builds decoders of equal layers, and {} is "
                                      "none",
                                      s.model.name));
    return to;
  }
  const TransformerSpec& spec = *found;
  add(to, "--use-mcore-models");
  add(to, "--num-layers {}", spec.layers);
  add(to, "--hidden-size {}", spec.hidden);
  add(to, "--num-attention-heads {}", spec.heads);
  attention(spec, to);
  add(to, "--ffn-hidden-size {}", spec.ffn);
  activation(spec, to);
  const bool layer = spec.norm == NormKind::Layer || spec.norm == NormKind::LayerWithoutBias;
  add(to, "--normalization {}", layer ? "LayerNorm" : "RMSNorm");
  if (spec.norm == NormKind::RmsUnitOffset) add(to, "--apply-layernorm-1p");
  biases(spec, to);
  positions(spec, std::max(s.model.sequence, s.plan.batch.sequence) + spec.position_offset, to,
            limits);
  if (!spec.tied) add(to, "--untie-embeddings-and-output-weights");
  add(to, "--make-vocab-size-divisible-by {}", kVocabularyMultiple);
  add(to, "--hidden-dropout {}", spec.dropout ? "0.1" : "0.0");
  add(to, "--attention-dropout {}", spec.attention_dropout ? "0.1" : "0.0");
  routed_layers(spec, s.plan, to, limits);
  padding(spec, s.plan.mesh.tp, limits);
  if (const std::vector<std::string_view> parts = parts_by_hand(spec, true); !parts.empty())
    limits.refuse(kPlace, fmt::format("pretrain_gpt.py has no argument for {}, without which it "
                                      "builds other weights than {} has",
                                      fmt::join(parts, ", "), s.model.name));
  if (const std::vector<std::string_view> parts = parts_by_hand(spec, false); !parts.empty())
    limits.warn(kPlace, fmt::format("pretrain_gpt.py has no argument for {}: build {} by hand and "
                                    "keep the other arguments",
                                    fmt::join(parts, ", "), s.model.name));
  return to;
}

std::vector<std::string> megatron_data(const Scenario& s) {
  // The last token of the placeholder tokenizer is the end of a document.
  return {"--mock-data", "--tokenizer-type NullTokenizer",
          fmt::format("--vocab-size {}", vocabulary(s.model)), "--split '99,1,0'"};
}

}  // namespace trainyard
