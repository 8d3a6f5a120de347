// This file builds whole language models: decoder (Llama, GPT and similar), encoder (BERT),
// encoder-decoder (T5, the first Transformer), and the vision transformer.
#include <algorithm>

#include "core/base/error.h"
#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

constexpr std::int64_t kRelativeBuckets = 32;  // T5 (Raffel et al. 2020)

[[noreturn]] void refuse_spec(const TransformerSpec& spec, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, spec.name + ": " + sentence);
}

void expect_positive(const TransformerSpec& spec, std::int64_t value, const char* what) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;  // small enough that the product of two
                                                         // sizes fits 64 bits with room to spare
  if (value < 1 || value > kMost)
    refuse_spec(spec, std::string("expected ") + what + " from 1 to " + std::to_string(kMost) +
                          ", found " + std::to_string(value));
}

std::string embedding_table(const TransformerSpec& spec) {
  return "embedding/" + std::string(spec.names.embedding) + ".weight";
}

std::string head_tie(const TransformerSpec& spec) {
  return spec.tied ? embedding_table(spec) : std::string();
}

}  // namespace

TransformerSpec completed(TransformerSpec spec) {
  expect_positive(spec, spec.layers, "a number of layers");
  expect_positive(spec, spec.hidden, "a hidden size");
  expect_positive(spec, spec.heads, "a number of attention heads");
  expect_positive(spec, spec.ffn, "a feed-forward size");
  if (spec.kv_heads == 0) spec.kv_heads = spec.heads;
  if (spec.heads % spec.kv_heads != 0)
    refuse_spec(spec, "expected key/value heads that divide the " + std::to_string(spec.heads) +
                          " attention heads, found " + std::to_string(spec.kv_heads));
  if (spec.head_dim == 0 && spec.latent.kv_rank == 0) {
    if (spec.hidden % spec.heads != 0)
      refuse_spec(spec, "expected attention heads that divide the hidden size " +
                            std::to_string(spec.hidden) + ", found " + std::to_string(spec.heads));
    spec.head_dim = spec.hidden / spec.heads;
  }
  const ExpertsSpec& experts = spec.experts;
  if (experts.count > 0 && (experts.top_k < 1 || experts.top_k > experts.count))
    refuse_spec(spec, "expected experts per token from 1 to " + std::to_string(experts.count) +
                          ", found " + std::to_string(experts.top_k));
  if (experts.dense_layers > spec.layers)
    refuse_spec(spec, "expected at most " + std::to_string(spec.layers) + " dense layers, found " +
                          std::to_string(experts.dense_layers));
  if (!spec.pattern.empty() && static_cast<std::int64_t>(spec.pattern.size()) != spec.layers)
    refuse_spec(spec, "expected the kind of each of " + std::to_string(spec.layers) +
                          " layers, found " + std::to_string(spec.pattern.size()));
  return spec;
}

namespace {

Block decoder_layers(const TransformerSpec& spec, std::string name, std::int64_t count,
                     bool dense) {
  TransformerLayer layer{spec};
  layer.causal = true;
  const TensorId out = layer.whole_layer(layer.builder.hidden_input(spec.hidden), dense);
  return layer.builder.block(std::move(name), count, true, out);
}

// Neighbouring layers of one kind are one block, named after the first of them.
void push_pattern(const TransformerSpec& spec, std::vector<Block>& blocks) {
  for (std::size_t i = 0, next = 0; i < spec.pattern.size(); i = next) {
    const LayerKind& kind = spec.pattern[i];
    while (next < spec.pattern.size() && spec.pattern[next] == kind) ++next;
    TransformerSpec one = spec;
    one.window = kind.window;
    one.chunk = kind.chunk;
    one.mixer = kind.mixer;
    one.feed_forward = kind.feed_forward;
    if (!kind.rotary) one.positions = Positions::Alibi;  // which adds no node
    blocks.push_back(decoder_layers(one, "layers." + std::to_string(i),
                                    static_cast<std::int64_t>(next - i), kind.dense));
  }
}

}  // namespace

Model empty_model(const TransformerSpec& spec) {
  Model model;
  model.name = spec.name;
  model.family = spec.family;
  model.source = spec.source;
  model.sequence = std::max<std::int64_t>(1, spec.sequence);
  return model;
}

TensorId embed(GraphBuilder& builder, const TransformerSpec& spec, std::string_view ids,
               const std::string& tied_to) {
  const std::string name = tied_to.empty() ? std::string(spec.names.embedding) : "embed_tokens";
  const std::int64_t width = spec.embedding_width > 0 ? spec.embedding_width : spec.hidden;
  const TensorId input = builder.index(std::string(ids), {kSequence, kBatch});
  if (tied_to.empty()) builder.graph.input = input;
  const TensorId table =
      builder.parameter(name + ".weight", {Dim{spec.vocab, Axis::Vocab, 0}, whole(width)}, tied_to);
  std::map<std::string, std::int64_t> attributes;
  if (spec.scaled_embedding) attributes["scaled"] = 1;
  TensorId x = builder.node(name, embedding(), {input, table}, attributes, TensorSplit::Vocab);
  if (width != spec.hidden) x = builder.linear("project_in", x, whole(spec.hidden), false);
  const auto add_table = [&](const char* what, std::int64_t rows, Shape index_shape) {
    const TensorId index = builder.index(std::string(what) + "_ids", std::move(index_shape));
    const TensorId rows_of = builder.parameter(std::string(what) + "_embeddings.weight",
                                               {whole(rows), whole(spec.hidden)});
    const TensorId found =
        builder.node(std::string(what) + "_embeddings", embedding(), {index, rows_of});
    x = builder.residual(std::string(what) + "_add", found, x);
  };
  if (spec.token_types > 0) add_table("token_type", spec.token_types, {kSequence, kBatch});
  if (spec.positions == Positions::Learned)
    add_table("position", spec.sequence + spec.position_offset, {kSequence, whole(1)});
  if (spec.embedding_norm) x = builder.norm("embedding_norm", x, spec.norm, spec.hidden);
  if (spec.dropout) x = builder.node("embedding_dropout", dropout(), {x});
  return x;
}

Block language_head(const TransformerSpec& spec, const std::string& tied_to) {
  GraphBuilder builder;
  TensorId x = builder.hidden_input(spec.hidden);
  if (spec.final_norm) x = builder.norm(spec.names.final_norm, x, spec.norm, spec.hidden);
  if (spec.embedding_width > 0 && spec.embedding_width != spec.hidden)
    x = builder.linear("project_out", x, whole(spec.embedding_width), false);
  const Dim vocabulary{spec.vocab, Axis::Vocab, 0};
  const TensorId logits =
      builder.linear(spec.names.head, x, vocabulary, spec.head_bias, TensorSplit::Column, tied_to);
  return builder.block("head", 1, false, builder.loss(logits, TensorSplit::Vocab));
}

Model build_decoder(const TransformerSpec& given) {
  const TransformerSpec spec = completed(given);
  expect_positive(spec, spec.vocab, "a vocabulary");
  expect_positive(spec, spec.sequence, "a longest sequence");
  Model model = empty_model(spec);
  GraphBuilder start;
  const TensorId embedded = embed(start, spec, "input_ids");
  model.blocks.push_back(start.block("embedding", 1, false, embedded));
  const std::int64_t dense = spec.experts.count > 0 ? spec.experts.dense_layers : 0;
  if (!spec.pattern.empty()) {
    push_pattern(spec, model.blocks);
  } else {
    if (dense > 0) model.blocks.push_back(decoder_layers(spec, "dense_layers", dense, true));
    if (spec.layers > dense)
      model.blocks.push_back(decoder_layers(spec, "layers", spec.layers - dense, false));
  }
  model.blocks.push_back(language_head(spec, head_tie(spec)));
  return model;
}

namespace {

// This is BERT's head over masked tokens: a dense layer, a norm, and the embedding table again with
// a bias of its own.
TensorId masked_token_logits(GraphBuilder& builder, const TransformerSpec& spec, TensorId x) {
  TensorId h = builder.linear("transform.dense", x, whole(spec.hidden), true);
  h = builder.norm("transform.LayerNorm", builder.node("transform.act", gelu(), {h}), spec.norm,
                   spec.hidden);
  return builder.linear(spec.names.head, h, Dim{spec.vocab, Axis::Vocab, 0}, true,
                        TensorSplit::Column, embedding_table(spec));
}

Block encoder_head(const TransformerSpec& spec, EncoderHead kind) {
  GraphBuilder builder;
  const TensorId x = builder.hidden_input(spec.hidden);
  TensorId loss;
  if (kind != EncoderHead::Pooler)
    loss = builder.loss(masked_token_logits(builder, spec, x), TensorSplit::Vocab);
  if (kind == EncoderHead::MaskedTokens) return builder.block("head", 1, false, loss);
  TensorId pooled = builder.node("first_token", first_token(), {x});
  pooled = builder.node("pooler.act", tanh_op(),
                        {builder.linear("pooler", pooled, whole(spec.hidden), true)});
  if (kind == EncoderHead::Pooler) return builder.block("head", 1, false, builder.loss(pooled));
  const TensorId pair = builder.linear("cls.seq_relationship", pooled, whole(2), true);
  const TensorId labels = builder.index("next_sentence_labels", {kBatch});
  const TensorId second = builder.node("next_sentence_loss", softmax_loss(), {pair, labels});
  return builder.block("head", 1, false, builder.residual("loss_add", loss, second));
}

}  // namespace

Model build_encoder(const TransformerSpec& given, EncoderHead head) {
  const TransformerSpec spec = completed(given);
  expect_positive(spec, spec.vocab, "a vocabulary");
  expect_positive(spec, spec.sequence, "a longest sequence");
  Model model = empty_model(spec);
  GraphBuilder start;
  const TensorId embedded = embed(start, spec, "input_ids");
  model.blocks.push_back(start.block("embedding", 1, false, embedded));
  TransformerLayer layer{spec};
  const TensorId out = layer.whole_layer(layer.builder.hidden_input(spec.hidden), true);
  model.blocks.push_back(layer.builder.block("layers", spec.layers, true, out));
  model.blocks.push_back(encoder_head(spec, head));
  return model;
}

namespace {

// T5 keeps one table of relative position biases for each stack, in its first layer; later layers
// reuse the biases.
void add_position_bias(TransformerLayer& layer) {
  layer.position_bias = layer.builder.parameter(
      "relative_attention_bias.weight",
      {whole(kRelativeBuckets), Dim{layer.spec.heads, Axis::Heads, layer.spec.heads}});
}

// The last layer's block also holds the end of the encoder, so that only layers lie between the
// first and the last block of the model.
Block encoder_layer(const TransformerSpec& spec, std::string name, std::int64_t count, bool first,
                    bool is_last) {
  TransformerLayer layer{spec};
  TensorId x = layer.builder.hidden_input(spec.hidden);
  if (first && spec.positions == Positions::Relative) add_position_bias(layer);
  x = layer.whole_layer(x, true);
  if (is_last && spec.final_norm) {
    x = layer.norm(spec.names.final_norm, x);
    x = layer.drop("final_dropout", x);
  }
  return layer.builder.block(std::move(name), count, true, x);
}

TensorId decoder_parts(TransformerLayer& layer, TensorId x, TensorId memory) {
  const TransformerSpec& spec = layer.spec;
  const auto wrap = [&](const std::string& norm_name, const std::string& label, auto part) {
    const TensorId inner = spec.post_norm ? x : layer.norm(norm_name, x);
    const TensorId sum =
        layer.builder.residual(label + "_add", x, layer.drop(label + "_dropout", part(inner)));
    x = spec.post_norm ? layer.norm(norm_name, sum) : sum;
  };
  wrap(std::string(spec.names.attention_norm), "attention",
       [&](TensorId h) { return layer.self_attention(h); });
  wrap("cross_attention.norm", "cross_attention",
       [&](TensorId h) { return layer.cross_attention(h, memory, "cross_attention."); });
  wrap(std::string(spec.names.mlp_norm), "mlp", [&](TensorId h) { return layer.feed_forward(h); });
  return x;
}

// The first decoder layer's block also embeds the target; every layer attends to the encoder's
// output.
Block decoder_layer(const TransformerSpec& spec, std::string name, std::int64_t count, bool first) {
  TransformerLayer layer{spec};
  layer.causal = true;
  GraphBuilder& builder = layer.builder;
  const TensorId memory = builder.activation(
      "encoder_output", {Dim{0, Axis::SequenceRegion, 0}, kBatch, whole(spec.hidden)});
  builder.graph.side_input = memory;
  TensorId x;
  if (first) {
    builder.graph.input = memory;
    x = embed(builder, spec, "decoder_input_ids", embedding_table(spec));
    if (spec.positions == Positions::Relative) add_position_bias(layer);
  } else {
    x = builder.hidden_input(spec.hidden);
  }
  x = decoder_parts(layer, x, memory);
  return builder.block(std::move(name), count, true, x);
}

}  // namespace

Model build_encoder_decoder(const TransformerSpec& given) {
  const TransformerSpec spec = completed(given);
  expect_positive(spec, spec.vocab, "a vocabulary");
  expect_positive(spec, spec.decoder_layers, "a number of decoder layers");
  Model model = empty_model(spec);
  GraphBuilder start;
  const TensorId embedded = embed(start, spec, "input_ids");
  model.blocks.push_back(start.block("embedding", 1, false, embedded));
  model.blocks.push_back(encoder_layer(spec, "encoder_first", 1, true, spec.layers == 1));
  if (spec.layers > 2)
    model.blocks.push_back(encoder_layer(spec, "encoder", spec.layers - 2, false, false));
  if (spec.layers > 1) model.blocks.push_back(encoder_layer(spec, "encoder_last", 1, false, true));
  model.blocks.push_back(decoder_layer(spec, "decoder_first", 1, true));
  if (spec.decoder_layers > 1)
    model.blocks.push_back(decoder_layer(spec, "decoder", spec.decoder_layers - 1, false));
  model.blocks.push_back(language_head(spec, head_tie(spec)));
  return model;
}

Model build_vision_transformer(const TransformerSpec& given, const ImageSpec& image) {
  TransformerSpec spec = completed(given);
  expect_positive(spec, image.image, "an image size");
  expect_positive(spec, image.patch, "a patch size");
  expect_positive(spec, image.channels, "a number of channels");
  if (image.image % image.patch != 0)
    refuse_spec(spec, "expected a patch that divides the image of " + std::to_string(image.image) +
                          ", found " + std::to_string(image.patch));
  const std::int64_t side = image.image / image.patch, tokens = side * side + 1;
  spec.sequence = tokens;
  Model model = empty_model(spec);
  model.tokens = false;
  const Dim sequence{tokens, Axis::SequenceRegion, 0};

  GraphBuilder start;
  const TensorId pixels = start.graph.input = start.activation(
      "image", {kBatch, whole(image.channels), whole(image.image), whole(image.image)});
  const TensorId filters = start.parameter(
      "projection.weight",
      {whole(spec.hidden), whole(image.channels), whole(image.patch), whole(image.patch)});
  const TensorId bias = start.parameter("projection.bias", {whole(spec.hidden)});
  const TensorId patches = start.node("projection", convolution(), {pixels, filters, bias},
                                      {{"stride", image.patch}, {"leaf", 1}});
  const TensorId class_token = start.parameter("cls_token", {whole(spec.hidden)});
  const TensorId positions =
      start.parameter("position_embeddings", {whole(tokens), whole(spec.hidden)});
  TensorId x = start.node("embeddings", patch_tokens(), {patches, class_token, positions});
  if (spec.dropout) x = start.node("embedding_dropout", dropout(), {x});
  model.blocks.push_back(start.block("embedding", 1, false, x));

  TransformerLayer layer{spec};
  const TensorId out = layer.whole_layer(layer.builder.hidden_input(spec.hidden, sequence), true);
  model.blocks.push_back(layer.builder.block("layers", spec.layers, true, out));

  GraphBuilder end;
  const TensorId normed = end.norm(spec.names.final_norm, end.hidden_input(spec.hidden, sequence),
                                   spec.norm, spec.hidden);
  TensorId logits = end.node("first_token", first_token(), {normed});
  if (image.classes > 0) {
    logits = end.linear(spec.names.head, logits, whole(image.classes), true);
  } else {
    logits =
        end.node("pooler.act", tanh_op(), {end.linear("pooler", logits, whole(spec.hidden), true)});
  }
  model.blocks.push_back(end.block("head", 1, false, end.loss(logits)));
  return model;
}

}  // namespace trainyard
