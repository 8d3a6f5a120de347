// Small convolutional networks with random weights, their real numbers by the reference maths of
// each op, and what a microcontroller's network is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/microcontroller/integer_network.h"
#include "core/model/graph_builder.h"
#include "core/model/ops.h"
#include "core/model/reference.h"

namespace trainyard::testing {

inline TrainedTensor random_tensor(int layer, std::string name, std::vector<std::int64_t> shape,
                                   double low, double high, std::uint64_t seed) {
  TrainedTensor t{layer, std::move(name), std::move(shape), {}};
  std::int64_t elements = 1;
  for (const std::int64_t size : t.shape) elements *= size;
  const Random random(seed, static_cast<std::uint64_t>(layer));
  for (std::int64_t e = 0; e < elements; ++e)
    t.values.push_back(
        static_cast<float>(low + (high - low) * random.uniform(static_cast<std::uint64_t>(e))));
  return t;
}

/// Random parameters of a model, and random statistics of its batch norms.
inline std::vector<TrainedTensor> random_weights(const Model& model, std::uint64_t seed) {
  std::vector<TrainedTensor> all;
  int layer = 0;
  for (const Block& block : model.blocks)
    for (int i = 0; i < block.count; ++i, ++layer) {
      const Graph& graph = block.graph;
      for (const Tensor& tensor : graph.tensors) {
        if (tensor.kind != TensorKind::Parameter) continue;
        const std::vector<std::int64_t> shape = local_shape(tensor, {});
        const double most = shape.size() == 1 ? 1 : 0.4;
        all.push_back(random_tensor(layer, tensor.name, shape, -most, most, ++seed));
      }
      for (const Node& node : graph.nodes) {
        if (node.op != &batch_norm()) continue;
        const std::vector<std::int64_t> channels = {graph[node.inputs[1]].shape[0].size};
        all.push_back(random_tensor(layer, running_mean_of(node), channels, -0.5, 0.5, ++seed));
        all.push_back(random_tensor(layer, running_variance_of(node), channels, 0.5, 2, ++seed));
      }
    }
  return all;
}

/// The forward pass of a model on one sample before its loss, in 8-byte floats, without folding
/// anything: batch norms by their running statistics.
class ReferenceForward {
 public:
  ReferenceForward(const Model& model, const std::vector<TrainedTensor>& trained)
      : model_(model), trained_(trained) {}

  /// Values by layer and tensor.
  using Values = std::map<std::pair<int, TensorId>, HostTensor>;
  Values operator()(const std::vector<float>& input) const {
    Values values;
    int layer = 0;
    const HostTensor* flowing = nullptr;
    for (const Block& block : model_.blocks)
      for (int i = 0; i < block.count; ++i, ++layer) {
        const Graph& graph = block.graph;
        HostTensor& first = values[{layer, graph.input}];
        first = flowing != nullptr
                    ? *flowing
                    : HostTensor{local_shape(graph[graph.input], {}), {input.begin(), input.end()}};
        for (const Node& node : graph.nodes)
          if (node.op != &softmax_loss())
            values[{layer, node.outputs[0]}] = compute(graph, node, layer, values);
        if (const auto out = values.find({layer, graph.output}); out != values.end())
          flowing = &out->second;
      }
    return values;
  }

 private:
  const TrainedTensor& find(int layer, const std::string& name) const {
    return *std::find_if(trained_.begin(), trained_.end(), [&](const TrainedTensor& t) {
      return t.layer == layer && t.name == name;
    });
  }

  HostTensor compute(const Graph& graph, const Node& node, int layer, const Values& values) const {
    std::vector<HostTensor> held;
    for (const TensorId in : node.inputs) {
      if (graph[in].kind != TensorKind::Parameter) {
        held.push_back(values.at({layer, in}));
        continue;
      }
      const TrainedTensor& t = find(layer, graph[in].name);
      held.push_back({t.shape, {t.values.begin(), t.values.end()}});
    }
    if (node.op == &batch_norm()) {
      HostTensor y = held[0];
      const std::size_t plane = y.values.size() / held[1].values.size();
      for (std::size_t e = 0; e < y.values.size(); ++e) {
        const std::size_t c = e / plane;
        y.values[e] = (y.values[e] - find(layer, running_mean_of(node)).values[c]) /
                          std::sqrt(find(layer, running_variance_of(node)).values[c] + 1e-5) *
                          held[1].values[c] +
                      held[2].values[c];
      }
      return y;
    }
    std::vector<const HostTensor*> inputs;
    for (const HostTensor& one : held) inputs.push_back(&one);
    const Binding binding;
    return reference(*node.op)
        .forward({.graph = graph, .node = node, .binding = binding, .inputs = inputs})
        .outputs[0];
  }

  const Model& model_;
  const std::vector<TrainedTensor>& trained_;
};

/// A network of every op that a microcontroller's runner has, over images of 12 x 10.
inline Model model_of_every_op() {
  GraphBuilder b;
  TensorId x = b.graph.input = b.activation("input", {kBatch, whole(3), whole(12), whole(10)});
  const auto conv = [&](const std::string& name, TensorId in, std::int64_t out, std::int64_t kernel,
                        std::int64_t stride, std::int64_t groups) {
    const std::int64_t channels = b.graph[in].shape[1].size;
    const TensorId weight = b.parameter(
        name + ".weight", {whole(out), whole(channels / groups), whole(kernel), whole(kernel)});
    const TensorId bias = b.parameter(name + ".bias", {whole(out)});
    return b.node(name, convolution(), {in, weight, bias},
                  {{"stride", stride}, {"padding", kernel / 2}, {"groups", groups}});
  };
  const auto bn = [&](const std::string& name, TensorId in) {
    const Dim width = whole(b.graph[in].shape[1].size);
    const TensorId weight = b.parameter(name + ".weight", {width});
    return b.node(name, batch_norm(), {in, weight, b.parameter(name + ".bias", {width})});
  };
  x = b.node("relu1", relu(), {bn("bn1", conv("conv1", x, 8, 3, 1, 1))});
  x = b.node("relu2", relu(), {conv("depthwise", x, 16, 3, 1, 8)});
  const TensorId pooled =
      b.node("largest", pooling(), {x}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}});
  const TensorId mean = b.node("mean", pooling(), {x},
                               {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"average", 1}});
  const TensorId sum = b.node("sum", add(), {conv("conv2", pooled, 16, 1, 1, 1), mean});
  const TensorId ready = b.node("relu3", relu(), {bn("bn2", sum)});  // of what others read too
  const TensorId alone = b.node("relu4", relu(), {sum});
  x = b.node("relu5", relu(), {b.node("sum2", add(), {ready, alone})});
  x = b.node("end", add(), {conv("conv3", x, 8, 3, 2, 1), conv("conv4", sum, 8, 1, 2, 1)});
  const Shape image = b.graph[x].shape;
  Model model;
  model.name = "every-op", model.family = "resnet", model.tokens = false;
  model.blocks.push_back(b.block("images", 1, true, x));
  GraphBuilder end;
  const TensorId in = end.graph.input =
      end.activation("input", {kBatch, whole(8), image[2], image[3]});
  const TensorId row = end.node("flatten", flatten(), {in});
  const TensorId hidden = end.node("relu", relu(), {end.linear("fc1", row, whole(24), true)});
  model.blocks.push_back(
      end.block("head", 1, false, end.loss(end.linear("fc2", hidden, whole(5), true))));
  return model;
}

/// A model as a microcontroller has it, calibrated on random samples of standard deviation 1.
struct MicroNetwork {
  Model model;
  std::vector<TrainedTensor> trained;
  FloatNetwork real;
  IntegerNetwork whole;
  std::vector<std::vector<float>> samples;  // channels first
};

inline std::vector<float> random_sample(const ImageSize& size, std::uint64_t seed) {
  return random_tensor(0, "", {size.elements()}, -1.7, 1.7, seed).values;
}

/// The model must stay where it is.
inline void make_micro_network(MicroNetwork& made, std::uint64_t seed, int samples = 8) {
  made.trained = random_weights(made.model, seed);
  made.real = float_network(made.model, made.trained);
  std::vector<CalibratedRange> ranges(made.real.tensors.size());
  const ReferenceForward forward(made.model, made.trained);
  for (int s = 0; s < samples; ++s) {
    made.samples.push_back(
        random_sample(made.real.tensors[static_cast<std::size_t>(made.real.input)].size,
                      seed + 1000 + static_cast<std::uint64_t>(s)));
    const ReferenceForward::Values values = forward(made.samples.back());
    for (std::size_t t = 0; t < ranges.size(); ++t)
      for (const double v :
           values.at({made.real.tensors[t].layer, made.real.tensors[t].tensor}).values) {
        ranges[t].low = std::min(ranges[t].low, static_cast<float>(v));
        ranges[t].high = std::max(ranges[t].high, static_cast<float>(v));
      }
  }
  made.whole = integer_network(made.real, ranges);
}

}  // namespace trainyard::testing
