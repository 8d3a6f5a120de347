// This file makes the parts that a user may insert into a model, as wide as the data at the place
// where they are inserted.
#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/model/edit.h"
#include "core/model/formula.h"
#include "core/model/graph_builder.h"
#include "core/model/refit.h"

namespace trainyard {
namespace {

constexpr std::array kBuildingBlocks = {
    BuildingBlock{"decoder", "Decoder block", "attention, SwiGLU"},
    BuildingBlock{"encoder", "Encoder block", "attention, GeLU"},
    BuildingBlock{"attention", "Attention", "RoPE"},
    BuildingBlock{"mlp", "MLP", "SwiGLU"},
    BuildingBlock{"moe", "Mixture of experts", "top 2 of 8"},
    BuildingBlock{"lstm", "LSTM", "recurrent"},
    BuildingBlock{"convolution", "Convolution", "3 × 3, batch norm"},
    BuildingBlock{"residual", "Residual block", "two 3 × 3"},
    BuildingBlock{"embedding", "Embedding", "token table"},
    BuildingBlock{"head", "Loss head", "norm, product, loss"},
    BuildingBlock{"linear", "Product", "matmul", false},
    BuildingBlock{"rms-norm", "Norm", "RMS", false},
    BuildingBlock{"layer-norm", "Norm", "layer", false},
    BuildingBlock{"gelu", "Activation", "GeLU", false},
    BuildingBlock{"relu", "Activation", "ReLU", false},
    BuildingBlock{"dropout", "Dropout", "", false},
    BuildingBlock{"own-gradient", "Own gradient", "formula", false},
    BuildingBlock{"pooling", "Pooling", "largest of 2 × 2", false},
};

bool is_sequence(const Shape& shape) {
  return shape.size() == 3 &&
         (shape[0].axis == Axis::SequenceRegion || shape[0].axis == Axis::Sequence) &&
         shape[2].size > 0;
}
// Copies of tokens for experts have four dimensions too, of which the batch is not the first.
bool is_image(const Shape& shape) { return shape.size() == 4 && shape[0].axis == Axis::Batch; }

// Returns the number of heads for a width, with the largest head of 128, 64, 32 ... elements that
// divides it into at least two.
std::int64_t usual_heads(std::int64_t width) {
  for (std::int64_t head = 128; head > 1; head /= 2)
    if (width % head == 0 && width / head >= 2) return width / head;
  return 1;
}

TransformerSpec spec_for(const char* family, std::int64_t width) {
  TransformerSpec spec = family_spec(family);
  spec.name = family;
  spec.layers = 1;
  spec.hidden = width;
  spec.heads = usual_heads(width);
  spec.ffn = spec.activation == Activation::Gelu ? 4 * width : (8 * width / 3 + 63) / 64 * 64;
  spec.experts = {.count = 8, .top_k = 2, .ffn = spec.ffn};
  return completed(spec);
}

Block transformer_part(std::string_view kind, const Shape& flow) {
  const TransformerSpec spec = spec_for(kind == "encoder" ? "bert" : "llama", flow[2].size);
  TransformerLayer layer{spec};
  layer.causal = kind != "encoder";
  GraphBuilder& builder = layer.builder;
  const TensorId x = builder.graph.input = builder.activation("input", flow);
  TensorId out;
  if (kind == "decoder" || kind == "encoder" || kind == "moe") {
    out = layer.whole_layer(x, kind != "moe");
  } else if (kind == "attention") {
    out = builder.residual("attention_add", x,
                           layer.self_attention(layer.norm(spec.names.attention_norm, x)));
  } else {
    out = builder.residual("mlp_add", x, layer.feed_forward(layer.norm(spec.names.mlp_norm, x)));
  }
  return builder.block(std::string(kind), 1, true, out);
}

Block lstm_part(const Shape& flow) {
  GraphBuilder builder;
  const std::int64_t width = flow[2].size;
  const TensorId x = builder.graph.input = builder.activation("input", flow);
  const TensorId gates = builder.linear("gates", x, whole(4 * width), true);
  const TensorId weight = builder.parameter("lstm.weight", {whole(width), whole(4 * width)});
  return builder.block("lstm", 1, true, builder.node("lstm", lstm(), {gates, weight}));
}

TensorId normed_convolution(GraphBuilder& b, const std::string& number, TensorId x) {
  const Dim width = whole(b.graph[x].shape[1].size);
  const TensorId filters =
      b.parameter("conv" + number + ".weight", {width, width, whole(3), whole(3)});
  const TensorId made =
      b.node("conv" + number, convolution(), {x, filters}, {{"stride", 1}, {"padding", 1}});
  const TensorId weight = b.parameter("bn" + number + ".weight", {width}),
                 bias = b.parameter("bn" + number + ".bias", {width});
  return b.node("bn" + number, batch_norm(), {made, weight, bias});
}

Block image_part(std::string_view kind, const Shape& flow) {
  GraphBuilder b;
  const TensorId x = b.graph.input = b.activation("input", flow);
  TensorId h = b.node("relu1", relu(), {normed_convolution(b, "1", x)});
  if (kind == "residual")
    h = b.node("relu", relu(), {b.residual("add", x, normed_convolution(b, "2", h))});
  return b.block(std::string(kind), 1, true, h);
}

Block embedding_part() {
  GraphBuilder builder;
  TransformerSpec spec = spec_for("llama", 1024);
  spec.vocab = 32000;
  return builder.block("embedding", 1, false, embed(builder, spec, "input_ids"));
}

Block head_part(const Shape& flow) {
  if (is_sequence(flow)) {
    TransformerSpec spec = spec_for("llama", flow[2].size);
    spec.vocab = 32000;
    return language_head(spec, {});
  }
  GraphBuilder b;
  TensorId x = b.graph.input = b.activation("input", flow);
  if (is_image(flow)) {
    x = b.node("avgpool", pooling(), {x}, {{"kernel", 0}, {"average", 1}});
    x = b.node("flatten", flatten(), {x});
  }
  return b.block("head", 1, false, b.loss(b.linear("fc", x, whole(10), true)));
}

Block make_part(std::string_view kind, const Shape& flow) {
  if (kind == "embedding") return embedding_part();
  if (kind == "head" && !flow.empty()) return head_part(flow);
  const bool image = kind == "convolution" || kind == "residual";
  if (image && !is_image(flow))
    refuse(std::string(kind),
           "expected images [batch, channels, height, width] here, found " + to_text(flow));
  if (image) return image_part(kind, flow);
  if (!is_sequence(flow))
    refuse(std::string(kind),
           "expected a sequence of vectors [sequence, batch, width] here, found " + to_text(flow));
  return kind == "lstm" ? lstm_part(flow) : transformer_part(kind, flow);
}

// Returns the shape of the data that enters the block at that place; empty at the beginning of the
// model.
Shape flow_at(const Model& model, std::size_t at) {
  if (at == 0) return {};
  const Graph& before = model.blocks[at - 1].graph;
  return before[before.output].shape;
}

const BuildingBlock& find_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const BuildingBlock& known : kBuildingBlocks) {
    if (known.name == name) return known;
    names.push_back(known.name);
  }
  throw Error(Error::Kind::InvalidInput, "expected a building block, found \"" +
                                             std::string(name.substr(0, 60)) + "\"" +
                                             did_you_mean(name, names));
}

// Ties refer to blocks by name, so a new block never takes the name of another.
Model with_block(const Model& given, std::string_view kind, std::size_t at, ModelPart* made) {
  Model model = given;
  Block block = make_part(kind, flow_at(model, at));
  block.name = free_block_name(model, block.name);
  model.blocks.insert(model.blocks.begin() + static_cast<std::ptrdiff_t>(at), std::move(block));
  if (made != nullptr) *made = {static_cast<int>(at), -1};
  return refitted(std::move(model));
}

std::string free_node_name(const Graph& graph, std::string_view base) {
  for (int number = 1;; ++number) {
    const std::string name = std::string(base) + (number == 1 ? "" : "." + std::to_string(number));
    const bool taken =
        std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& tensor) {
          return tensor.name == name || tensor.name.starts_with(name + ".");
        });
    if (!taken) return name;
  }
}

TensorId make_node(GraphBuilder& b, std::string_view kind, const std::string& name, TensorId x) {
  const Shape shape = b.graph[x].shape;
  const bool image = is_image(shape);
  if (kind == "linear" && image) {
    const Dim width = whole(shape[1].size);
    const TensorId filters = b.parameter(name + ".weight", {width, width, whole(3), whole(3)});
    return b.node(name, convolution(), {x, filters}, {{"stride", 1}, {"padding", 1}});
  }
  if (kind == "linear") return b.linear(name, x, shape.back(), false);
  if (image && (kind == "rms-norm" || kind == "layer-norm")) {
    const Dim width = whole(shape[1].size);
    return b.node(
        name, batch_norm(),
        {x, b.parameter(name + ".weight", {width}), b.parameter(name + ".bias", {width})});
  }
  if (kind == "rms-norm") return b.norm(name, x, NormKind::Rms, shape.back().size);
  if (kind == "layer-norm") return b.norm(name, x, NormKind::Layer, shape.back().size);
  if (kind == "gelu") return b.node(name, gelu(), {x});
  if (kind == "relu") return b.node(name, relu(), {x});
  if (kind == "dropout") return b.node(name, dropout(), {x});
  // It changes nothing until its formulas are edited.
  if (kind == "own-gradient")
    return add_formula(b.graph, name, {x},
                       {value_formula("x", 1), {gradient_formula("dy", 1)}, false});
  return b.node(name, pooling(), {x}, {{"kernel", 2}, {"stride", 2}});
}

Model with_node(const Model& given, std::string_view kind, ModelPart after, ModelPart* made) {
  Model model = given;
  Block& block = model.blocks[static_cast<std::size_t>(after.block)];
  const int behind = after.node + 1;
  const auto at = static_cast<std::size_t>(behind);
  GraphBuilder builder{block.graph};
  Graph& graph = builder.graph;
  const TensorId x = after.node < 0 ? graph.input : graph.nodes[at - 1].outputs[0];
  const std::string place = block.name + (after.node < 0 ? "" : "/" + graph.nodes[at - 1].name);
  if (graph[x].kind != TensorKind::Activation || graph[x].shape.empty())
    refuse(place, "expected a place where activations flow, found " + graph[x].name);
  if (kind == "pooling" && !is_image(graph[x].shape))
    refuse(place, "expected images [batch, channels, height, width] here, found " +
                      to_text(graph[x].shape));
  const std::size_t before = graph.nodes.size();
  const TensorId out = make_node(builder, kind, free_node_name(graph, kind), x);
  Node node = graph.nodes.back();
  graph.nodes.pop_back();
  for (std::size_t n = 0; n < before; ++n)
    std::replace(graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end(), x, out);
  if (graph.output == x) graph.output = out;
  graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(node));
  block.graph = std::move(builder.graph);
  if (made != nullptr) *made = {after.block, static_cast<int>(at)};
  return refitted(std::move(model));
}

}  // namespace

std::span<const BuildingBlock> building_blocks() { return kBuildingBlocks; }

Model with_building_block(const Model& model, std::string_view name, ModelPart after,
                          ModelPart* made) {
  const BuildingBlock& kind = find_kind(name);
  const int blocks = static_cast<int>(model.blocks.size());
  if (kind.layer) {
    const int at = std::clamp(after.block + 1, 0, blocks);
    return with_block(model, name, static_cast<std::size_t>(at), made);
  }
  if (after.block < 0 || after.block >= blocks)
    refuse("model", "expected a block for the node to go into, found none chosen");
  const auto nodes =
      static_cast<int>(model.blocks[static_cast<std::size_t>(after.block)].graph.nodes.size());
  if (after.node >= nodes)
    refuse(model.blocks[static_cast<std::size_t>(after.block)].name,
           "expected one of its nodes, found number " + std::to_string(after.node));
  return with_node(model, name, {after.block, std::max(after.node, -1)}, made);
}

}  // namespace trainyard
