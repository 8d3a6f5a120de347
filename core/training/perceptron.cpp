#include "core/training/perceptron.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/vectorised.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED void add_product(std::size_t inputs, std::size_t outputs, const float* x,
                                      const float* weight, float* y) {
  for (std::size_t i = 0; i < inputs; ++i) {
    const float factor = x[i];
    for (std::size_t o = 0; o < outputs; ++o) y[o] += factor * weight[i * outputs + o];
  }
}

void approach(std::vector<float>& from, const std::vector<float>& to, float share) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] += share * (to[i] - from[i]);
}

const std::vector<float>& parameter_of(const std::vector<TrainedTensor>& all, int layer,
                                       const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const TrainedTensor& t) {
    return t.layer == layer && t.name == name;
  });
  if (found == all.end())
    throw Error(Error::Kind::Internal,
                "expected the parameter \"" + name + "\" of layer " + std::to_string(layer));
  return found->values;
}

bool is_vector(const Tensor& tensor, std::int64_t width) {
  return tensor.shape.size() == 2 && tensor.shape[0].axis == Axis::Batch &&
         tensor.shape[1].size == width;
}

}  // namespace

std::string Perceptron::why_not(const Model& model, std::int64_t inputs, std::int64_t outputs) {
  const Node* last = nullptr;
  for (const Block& block : model.blocks) {
    const Graph& graph = block.graph;
    TensorId flows = graph.input;
    if (last == nullptr && !(flows.valid() && is_vector(graph[flows], inputs)))
      return "it does not read " + std::to_string(inputs) + " numbers a sample";
    for (const Node& node : graph.nodes) {
      const bool layer = node.op == &matmul() && node.inputs.size() == 3;
      const bool after = last != nullptr && (node.op == &relu() || node.op == &squared_error());
      if (!(layer || after) || node.inputs[0] != flows)
        return "it has " + node.name + " (" + std::string(node.op->name) + ") in " + block.name;
      for (const TensorId in : node.inputs)
        if (!graph[in].tied_to.empty()) return graph[in].name + " of " + block.name + " is shared";
      if (node.op == &squared_error() && !is_vector(graph[flows], outputs))
        return "it does not end in " + std::to_string(outputs) + " numbers a sample";
      flows = node.outputs[0];
      last = &node;
    }
  }
  return last != nullptr && last->op == &squared_error() ? "" : "it ends in no squared error";
}

Perceptron::Perceptron(const Model& model, const std::vector<TrainedTensor>& parameters) {
  int layer = 0;
  for (const Block& block : model.blocks)
    for (int i = 0; i < block.count; ++i, ++layer)
      for (const Node& node : block.graph.nodes) {
        if (node.op == &relu()) layers_.back().relu = true;
        if (node.op != &matmul()) continue;
        const Tensor& weight = block.graph[node.inputs[1]];
        layers_.push_back({static_cast<std::size_t>(weight.shape[0].size),
                           static_cast<std::size_t>(weight.shape[1].size),
                           parameter_of(parameters, layer, weight.name),
                           parameter_of(parameters, layer, block.graph[node.inputs[2]].name),
                           false});
      }
}

std::span<const float> Perceptron::outputs(std::span<const float> inputs, Scratch& scratch) const {
  scratch.now.assign(inputs.begin(), inputs.end());
  for (const Layer& layer : layers_) {
    scratch.next = layer.bias;
    add_product(layer.inputs, layer.outputs, scratch.now.data(), layer.weight.data(),
                scratch.next.data());
    if (layer.relu)
      for (float& value : scratch.next) value = std::max(value, 0.0F);
    scratch.now.swap(scratch.next);
  }
  return scratch.now;
}

void Perceptron::follow(const Perceptron& other, float share) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    approach(layers_[l].weight, other.layers_[l].weight, share);
    approach(layers_[l].bias, other.layers_[l].bias, share);
  }
}

}  // namespace trainyard
