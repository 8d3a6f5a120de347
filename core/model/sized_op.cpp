#include "core/model/sized_op.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

struct OneOp {
  const OpSizes& sizes;
  Graph graph = {};

  std::int64_t operator[](std::string_view name) const { return sizes.find(name)->second; }
  TensorId tensor(const char* name, const std::vector<std::int64_t>& shape,
                  TensorKind kind = TensorKind::Activation) {
    Tensor made{name, {}, kind, {}};
    for (const std::int64_t size : shape) made.shape.push_back({size, Axis::None, 0});
    return graph.add(std::move(made));
  }
  TensorId weight(const char* name, const std::vector<std::int64_t>& shape) {
    return tensor(name, shape, TensorKind::Parameter);
  }
  Graph with(const Op& op, std::vector<TensorId> inputs,
             std::map<std::string, std::int64_t> attributes = {}) {
    graph.input = inputs.front();
    graph.output = graph.add(std::string(op.name), op, std::move(inputs), std::move(attributes));
    return std::move(graph);
  }
};

Graph make_matmul(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(matmul(), {g.tensor("x", {g["m"], g["k"]}), g.weight("weight", {g["k"], g["n"]})});
}

Graph make_convolution(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(convolution(),
                {g.tensor("x", {g["batch"], g["channels"], g["image"], g["image"]}),
                 g.weight("weight", {g["filters"], g["channels"], g["kernel"], g["kernel"]})},
                {{"stride", g["stride"]}, {"padding", g["kernel"] / 2}});
}

Graph make_depthwise(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(convolution(),
                {g.tensor("x", {g["batch"], g["channels"], g["image"], g["image"]}),
                 g.weight("weight", {g["channels"], 1, g["kernel"], g["kernel"]})},
                {{"stride", g["stride"]}, {"padding", g["kernel"] / 2}, {"groups", g["channels"]}});
}

Graph make_attention(const OpSizes& sizes) {
  OneOp g{sizes};
  const std::vector<std::int64_t> shape{g["tokens"], g["batch"], g["heads"] * g["head"]};
  return g.with(attention(), {g.tensor("q", shape), g.tensor("k", shape), g.tensor("v", shape)},
                {{"heads", g["heads"]}, {"causal", 1}});
}

Graph make_layer_norm(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(layer_norm(), {g.tensor("x", {g["rows"], g["width"]}),
                               g.weight("weight", {g["width"]}), g.weight("bias", {g["width"]})});
}

Graph make_rms_norm(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(rms_norm(),
                {g.tensor("x", {g["rows"], g["width"]}), g.weight("weight", {g["width"]})});
}

Graph make_gelu(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(gelu(), {g.tensor("x", {g["rows"], g["width"]})});
}

Graph make_gated_silu(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(gated_silu(), {g.tensor("gate", {g["rows"], g["width"]}),
                               g.tensor("up", {g["rows"], g["width"]})});
}

Graph make_softmax_loss(const OpSizes& sizes) {
  OneOp g{sizes};
  return g.with(softmax_loss(), {g.tensor("logits", {g["rows"], g["width"]}),
                                 g.tensor("labels", {g["rows"]}, TensorKind::Index)});
}

std::vector<SizedOp> make_ops() {
  const std::vector<OpSize> rows{{"rows", "rows of the tensor", 512},
                                 {"width", "numbers in a row", 768}};
  const OpSize batch{"batch", "images of a microbatch", 4}, image{"image", "height and width", 28},
      kernel{"kernel", "height and width of the weight", 3, 1, 63},
      stride{"stride", "distance of two outputs in the image", 1, 1, 64};
  return {{"matmul",
           "m",
           {{"m", "rows of the input: tokens or samples", 256},
            {"n", "columns of the weight: outputs", 256},
            {"k", "rows of the weight: inputs", 512}},
           make_matmul},
          {"convolution",
           "batch",
           {batch,
            {"channels", "channels of the input", 64},
            {"filters", "channels of the output", 64},
            image,
            kernel,
            stride},
           make_convolution},
          {"depthwise",
           "batch",
           {batch, {"channels", "channels, each convolved alone", 64}, image, kernel, stride},
           make_depthwise},
          {"attention",
           "batch",
           {{"batch", "texts of a microbatch", 1},
            {"tokens", "tokens of a text", 256},
            {"heads", "heads of queries, keys and values", 8, 1, 1024},
            {"head", "width of a head", 64}},
           make_attention},
          {"layer_norm", "rows", rows, make_layer_norm},
          {"rms_norm", "rows", rows, make_rms_norm},
          {"gelu", "rows", rows, make_gelu},
          {"gated_silu", "rows", rows, make_gated_silu},
          {"softmax_loss", "rows", rows, make_softmax_loss}};
}

template <class List>
auto& found_by_name(const List& list, std::string_view name, const std::string& what) {
  std::vector<std::string_view> names;
  std::string all;
  for (const auto& one : list) {
    if (one.name == name) return one;
    names.push_back(one.name);
    all += (all.empty() ? "" : ", ") + std::string(one.name);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {}, one of {}; found \"{}\"{}", what, all, name.substr(0, 80),
                          did_you_mean(name, names)));
}

}  // namespace

std::span<const SizedOp> sized_ops() {
  static const std::vector<SizedOp> list = make_ops();
  return list;
}

const SizedOp& sized_op(std::string_view name) {
  return found_by_name(sized_ops(), name, "an op that can be probed");
}

void expect_size(const SizedOp& op, std::string_view name, std::int64_t value) {
  const OpSize& size = found_by_name(op.sizes, name, "a size of " + std::string(op.name));
  if (value < size.least || value > size.most)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("{}: expected a whole number from {} to {}, found {}", name, size.least,
                            size.most, value));
}

std::vector<std::pair<std::string, std::int64_t>> complete_sizes(const SizedOp& op,
                                                                 const OpSizes& sizes) {
  std::vector<std::pair<std::string, std::int64_t>> complete;
  for (const OpSize& size : op.sizes) {
    const auto given = sizes.find(size.name);
    complete.emplace_back(size.name, given == sizes.end() ? size.usual : given->second);
  }
  return complete;
}

Graph graph_of(const SizedOp& op, const OpSizes& sizes) {
  for (const auto& [name, value] : sizes) expect_size(op, name, value);
  OpSizes complete;
  for (const auto& [name, value] : complete_sizes(op, sizes)) complete[name] = value;
  return op.graph(complete);
}

}  // namespace trainyard
