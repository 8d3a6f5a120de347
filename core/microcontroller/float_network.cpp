#include "core/microcontroller/float_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/model/layer_name.h"
#include "core/model/ops.h"
#include "core/model/reference.h"

namespace trainyard {
namespace {

// A node that computes something, between values: indices of tensors of the network.
struct FlatNode {
  int layer = 0;
  const Graph* graph = nullptr;
  const Node* node = nullptr;
  std::vector<int> inputs;
  int output = 0;
};

ImageSize size_of(const Shape& shape) {
  if (shape.size() == 4) return {shape[2].size, shape[3].size, shape[1].size};
  return {1, 1, shape.back().size};
}

bool is_image_or_row(const Shape& shape) {
  return (shape.size() == 4 || shape.size() == 2) && shape.front().axis == Axis::Batch;
}

bool is_loss(const Op& op) { return &op == &softmax_loss() || &op == &squared_error(); }
// The output has the numbers of the input, in their order.
bool is_view(const Op& op) { return &op == &flatten() || &op == &dropout(); }

// There is a layer for the op, or none is needed.
bool has_layer(const Op& op) {
  return &op == &matmul() || &op == &convolution() || &op == &batch_norm() || &op == &relu() ||
         &op == &pooling() || &op == &add() || is_loss(op) || is_view(op);
}

bool has_weights(MicroOp op) {
  return op == MicroOp::FullyConnected || op == MicroOp::Convolution ||
         op == MicroOp::DepthwiseConvolution;
}

class NetworkBuilder {
 public:
  NetworkBuilder(const Model& model, const std::vector<TrainedTensor>& trained)
      : model_(model), trained_(trained) {
    network_.model = model.name, network_.output = -1;
  }

  void check() {
    if (const std::int64_t count = parameters(model_); count > kMostMicroParameters)
      refuse_model(
          fmt::format("expected at most {} parameters, found {}: no microcontroller has "
                      "the flash",
                      kMostMicroParameters, count));
    flatten_nodes();
    for (const FlatNode& node : nodes_)
      if (const std::optional<std::string> why = why_not(node))
        refuse_node(node.layer, *node.node, *why);
    throw_if_refused();
    if (nodes_.empty()) refuse_model("expected a model that computes something");
    if (readers_[static_cast<std::size_t>(network_.output)] > 1)
      refuse_model("expected outputs that the loss alone reads");
    if (const ImageSize& out = tensor(network_.output).size; out.height * out.width != 1)
      refuse_model("expected a row of outputs before the loss, found an image");
  }

  FloatNetwork build() {
    check();
    for (const FlatNode& node : nodes_) add(node);
    keep_used_tensors();
    return std::move(network_);
  }

 private:
  FloatTensor& tensor(int index) { return network_.tensors[static_cast<std::size_t>(index)]; }

  [[noreturn]] void refuse_model(const std::string& sentence) const {
    throw Error(Error::Kind::Unsupported, sentence, {"model " + model_.name});
  }
  void refuse_node(int layer, const Node& node, std::string_view why) {
    refused_.push_back(fmt::format("{} of {} (op {}{})", node.name,
                                   layer_name(model_, static_cast<std::size_t>(layer)),
                                   node.op->name, why));
  }
  void throw_if_refused() const {
    if (refused_.empty()) return;
    constexpr std::size_t kShown = 6;
    std::string list;
    for (std::size_t i = 0; i < std::min(kShown, refused_.size()); ++i)
      list += (i > 0 ? ", " : "") + refused_[i];
    if (refused_.size() > kShown) list += fmt::format(" and {} more", refused_.size() - kShown);
    refuse_model(
        "a microcontroller's runner has products, convolutions, depthwise convolutions, batch "
        "norms, ReLU, pooling and sums over images and rows of numbers, and none for " +
        list);
  }

  int new_tensor(int layer, const Graph& graph, TensorId id) {
    network_.tensors.push_back({size_of(graph[id].shape), layer, &graph, id});
    readers_.push_back(0);
    producer_.push_back(-1);
    return static_cast<int>(network_.tensors.size()) - 1;
  }

  // Gives every activation its value, across the borders of blocks and through views.
  void flatten_nodes() {
    int layer = 0, flowing = -1;
    for (const Block& block : model_.blocks)
      for (int i = 0; i < block.count; ++i, ++layer)
        flowing = flatten_layer(block.graph, layer, flowing);
    throw_if_refused();
    if (!ends_) refuse_model("expected a model that ends in a loss");
    ++readers_[static_cast<std::size_t>(network_.output)];
  }

  int flatten_layer(const Graph& graph, int layer, int flowing) {
    std::map<TensorId, int> values;
    if (!graph.input.valid()) refuse_model("expected blocks that read one tensor each");
    if (flowing < 0) flowing = network_.input = new_tensor(layer, graph, graph.input);
    values[graph.input] = flowing;
    for (const Node& node : graph.nodes) {
      std::vector<int> inputs;
      for (const TensorId in : node.inputs)
        if (const auto found = values.find(in); found != values.end())
          inputs.push_back(found->second);
      if (!has_layer(*node.op) || inputs.empty() || !is_image_or_row(graph[node.inputs[0]].shape)) {
        refuse_node(layer, node, has_layer(*node.op) ? ", of a sequence" : "");
        for (const TensorId out : node.outputs) values[out] = flowing;
        continue;
      }
      if (is_loss(*node.op)) {
        network_.output = inputs[0], ends_ = true;
        continue;
      }
      if (is_view(*node.op)) {
        values[node.outputs[0]] = inputs[0];
        continue;
      }
      const int output = new_tensor(layer, graph, node.outputs[0]);
      for (const TensorId out : node.outputs) values[out] = output;
      for (const int in : inputs) ++readers_[static_cast<std::size_t>(in)];
      nodes_.push_back({layer, &graph, &node, std::move(inputs), output});
    }
    const auto out = values.find(graph.output);
    return out == values.end() ? flowing : out->second;
  }

  const TrainedTensor& find(int layer, const std::string& name) const {
    const auto found = std::find_if(trained_.begin(), trained_.end(), [&](const TrainedTensor& t) {
      return t.layer == layer && t.name == name;
    });
    if (found == trained_.end())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected numbers for {} of {}", name,
                              layer_name(model_, static_cast<std::size_t>(layer))),
                  {"model " + model_.name});
    return *found;
  }
  const TrainedTensor& parameter(const FlatNode& at, std::size_t input) const {
    return find(at.layer, (*at.graph)[at.node->inputs[input]].name);
  }
  std::vector<double> bias_of(const FlatNode& at, std::int64_t channels) const {
    if (at.node->inputs.size() < 3) return std::vector<double>(static_cast<std::size_t>(channels));
    const std::vector<float>& values = parameter(at, 2).values;
    return {values.begin(), values.end()};
  }

  FloatLayer& push(const FlatNode& at, MicroOp op) {
    producer_[static_cast<std::size_t>(at.output)] = static_cast<int>(network_.layers.size());
    FloatLayer& layer = network_.layers.emplace_back();
    layer.op = op, layer.inputs = at.inputs, layer.output = at.output;
    layer.name = layer_name(model_, static_cast<std::size_t>(at.layer)) + " " + at.node->name;
    return layer;
  }

  void add(const FlatNode& at) {
    const Op& op = *at.node->op;
    if (&op == &matmul())
      add_product(at);
    else if (&op == &convolution())
      add_convolution(at);
    else if (&op == &batch_norm())
      add_norm(at);
    else if (&op == &relu())
      add_relu(at);
    else if (&op == &pooling())
      add_pooling(at);
    else
      push(at, MicroOp::Add);
  }

  // Why there is no layer for a node although there is one for its op; nothing where there is.
  std::optional<std::string> why_not(const FlatNode& at) {
    const Op& op = *at.node->op;
    const auto shape_of = [&](std::size_t input) -> const Shape& {
      return (*at.graph)[at.node->inputs[input]].shape;
    };
    const ImageSize& in = tensor(at.inputs[0]).size;
    if (&op == &convolution()) {
      const std::int64_t groups = attribute(*at.node, "groups", 1);
      if (groups == 1 || shape_of(1)[1].size == 1) return std::nullopt;
      return fmt::format(", whose {} groups have several channels each", groups);
    }
    if (&op == &batch_norm()) {
      if (shape_of(1)[0].size == in.channels) return std::nullopt;
      return ", which normalises a flattened image";
    }
    if (&op == &trainyard::add()) {
      if (at.inputs.size() == 2 && in == tensor(at.inputs[1]).size) return std::nullopt;
      return ", whose inputs have other sizes";
    }
    return std::nullopt;
  }

  // The model's row is the image with channels first where its input was flattened.
  void add_product(const FlatNode& at) {
    const TrainedTensor& weight = parameter(at, 1);
    const ImageSize in = tensor(at.inputs[0]).size;
    const std::int64_t out = weight.shape[1];
    FloatLayer& layer = push(at, MicroOp::FullyConnected);
    layer.bias = bias_of(at, out);
    layer.weights.reserve(weight.values.size());
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t y = 0; y < in.height; ++y)
        for (std::int64_t x = 0; x < in.width; ++x)
          for (std::int64_t c = 0; c < in.channels; ++c)
            layer.weights.push_back(weight.values[static_cast<std::size_t>(
                ((c * in.height + y) * in.width + x) * out + o)]);
  }

  void add_convolution(const FlatNode& at) {
    const TrainedTensor& weight = parameter(at, 1);  // [out, in / groups, height, width]
    const std::int64_t out = weight.shape[0], in = weight.shape[1], height = weight.shape[2],
                       width = weight.shape[3], groups = attribute(*at.node, "groups", 1);
    const bool depthwise = groups > 1;
    FloatLayer& layer = push(at, depthwise ? MicroOp::DepthwiseConvolution : MicroOp::Convolution);
    layer.window = {height, width, attribute(*at.node, "stride", 1), row_padding(*at.node),
                    attribute(*at.node, "padding")};
    layer.bias = bias_of(at, out);
    const auto weight_at = [&](std::int64_t o, std::int64_t i, std::int64_t y, std::int64_t x) {
      return weight.values[static_cast<std::size_t>(((o * in + i) * height + y) * width + x)];
    };
    layer.weights.reserve(weight.values.size());
    if (depthwise) {
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
          for (std::int64_t o = 0; o < out; ++o) layer.weights.push_back(weight_at(o, 0, y, x));
      return;
    }
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
          for (std::int64_t i = 0; i < in; ++i) layer.weights.push_back(weight_at(o, i, y, x));
  }

  // The layer that makes a value, where nothing else reads the value and its end can be changed.
  FloatLayer* sole_producer(int value) {
    const auto index = static_cast<std::size_t>(value);
    if (readers_[index] != 1 || producer_[index] < 0) return nullptr;
    FloatLayer& layer = network_.layers[static_cast<std::size_t>(producer_[index])];
    return layer.relu ? nullptr : &layer;
  }
  void end_with(FloatLayer& layer, const FlatNode& at) {
    producer_[static_cast<std::size_t>(at.output)] =
        producer_[static_cast<std::size_t>(layer.output)];
    layer.output = at.output;
  }

  // y = weight * (x - mean) / sqrt(variance + epsilon) + bias. Where no layer with weights comes
  // before, it is a depthwise convolution of windows of one element.
  void add_norm(const FlatNode& at) {
    const auto& weight = parameter(at, 1).values;
    const auto& bias = parameter(at, 2).values;
    const auto& mean = find(at.layer, running_mean_of(*at.node)).values;
    const auto& variance = find(at.layer, running_variance_of(*at.node)).values;
    const std::size_t channels = weight.size();
    std::vector<double> factors(channels);
    for (std::size_t c = 0; c < channels; ++c)
      factors[c] = weight[c] / std::sqrt(static_cast<double>(variance[c]) + kNormEpsilon);
    FloatLayer* layer = sole_producer(at.inputs[0]);
    if (layer == nullptr || !has_weights(layer->op)) {
      layer = &push(at, MicroOp::DepthwiseConvolution);
      layer->weights.assign(channels, 1.0F);
      layer->bias.assign(channels, 0.0);
    } else {
      end_with(*layer, at);
    }
    const bool by_last = layer->op == MicroOp::DepthwiseConvolution;
    const std::size_t each = layer->weights.size() / channels;
    for (std::size_t w = 0; w < layer->weights.size(); ++w)
      layer->weights[w] =
          static_cast<float>(layer->weights[w] * factors[by_last ? w % channels : w / each]);
    for (std::size_t c = 0; c < channels; ++c)
      layer->bias[c] = (layer->bias[c] - mean[c]) * factors[c] + bias[c];
  }

  void add_relu(const FlatNode& at) {
    FloatLayer* layer = sole_producer(at.inputs[0]);
    if (layer == nullptr || (!has_weights(layer->op) && layer->op != MicroOp::Add)) {
      push(at, MicroOp::Relu);
      return;
    }
    layer->relu = true;
    end_with(*layer, at);
  }

  void add_pooling(const FlatNode& at) {
    const bool average = attribute(*at.node, "average") != 0;
    FloatLayer& layer = push(at, average ? MicroOp::AveragePool : MicroOp::MaxPool);
    const std::int64_t kernel = attribute(*at.node, "kernel");
    const ImageSize& in = tensor(at.inputs[0]).size;
    layer.window = {kernel, kernel, attribute(*at.node, "stride", kernel), row_padding(*at.node),
                    attribute(*at.node, "padding")};
    if (kernel == 0) layer.window = {in.height, in.width, 1, 0, 0};
  }

  // Values between a layer and what became its end are never stored.
  void keep_used_tensors() {
    std::vector<int> renamed(network_.tensors.size(), -1);
    std::vector<FloatTensor> kept;
    const auto keep = [&](int& index) {
      int& to = renamed[static_cast<std::size_t>(index)];
      if (to < 0) {
        to = static_cast<int>(kept.size());
        kept.push_back(tensor(index));
      }
      index = to;
    };
    keep(network_.input);
    for (FloatLayer& layer : network_.layers) {
      for (int& in : layer.inputs) keep(in);
      keep(layer.output);
    }
    keep(network_.output);
    network_.tensors = std::move(kept);
  }

  const Model& model_;
  const std::vector<TrainedTensor>& trained_;
  FloatNetwork network_;
  std::vector<FlatNode> nodes_;
  std::vector<int> readers_, producer_;  // by tensor; the producer is a layer, -1 = none
  std::vector<std::string> refused_;
  bool ends_ = false;
};

}  // namespace

std::string_view to_string(MicroOp op) {
  switch (op) {
    case MicroOp::FullyConnected:
      return "fully connected";
    case MicroOp::Convolution:
      return "convolution";
    case MicroOp::DepthwiseConvolution:
      return "depthwise convolution";
    case MicroOp::Add:
      return "sum";
    case MicroOp::Relu:
      return "ReLU";
    case MicroOp::MaxPool:
      return "largest of windows";
    case MicroOp::AveragePool:
      return "mean of windows";
  }
  return "";
}

std::int64_t multiplications(const FloatNetwork& network) {
  std::int64_t all = 0;
  for (const FloatLayer& layer : network.layers) {
    const ImageSize& out = network.tensors[static_cast<std::size_t>(layer.output)].size;
    all += static_cast<std::int64_t>(layer.weights.size()) * out.height * out.width;
  }
  return all;
}

void check_for_microcontroller(const Model& model) {
  const std::vector<TrainedTensor> none;
  NetworkBuilder(model, none).check();
}

FloatNetwork float_network(const Model& model, const std::vector<TrainedTensor>& trained) {
  return NetworkBuilder(model, trained).build();
}

std::vector<float> channels_last(const std::vector<float>& image, const ImageSize& size) {
  std::vector<float> turned(image.size());
  const std::int64_t pixels = size.height * size.width;
  for (std::int64_t c = 0; c < size.channels; ++c)
    for (std::int64_t p = 0; p < pixels; ++p)
      turned[static_cast<std::size_t>(p * size.channels + c)] =
          image[static_cast<std::size_t>(c * pixels + p)];
  return turned;
}

}  // namespace trainyard
