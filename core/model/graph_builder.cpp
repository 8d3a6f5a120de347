#include "core/model/graph_builder.h"

#include "core/base/error.h"

namespace trainyard {

TensorId GraphBuilder::linear(std::string_view name, TensorId x, Dim out, bool bias,
                              TensorSplit split, std::string tied_to, bool leaf) {
  const std::string base(name);
  const Dim in = graph[x].shape.back();
  std::vector<TensorId> inputs = {x, parameter(base + ".weight", {in, out}, std::move(tied_to))};
  if (bias) inputs.push_back(parameter(base + ".bias", {out}));
  std::map<std::string, std::int64_t> attributes;
  if (leaf) attributes["leaf"] = 1;
  return node(name, matmul(), std::move(inputs), std::move(attributes), split);
}

TensorId GraphBuilder::norm(std::string_view name, TensorId x, NormKind kind, Dim width) {
  const std::string base(name);
  const TensorId weight = parameter(base + ".weight", {width});
  if (kind == NormKind::Layer)
    return node(name, layer_norm(), {x, weight, parameter(base + ".bias", {width})});
  if (kind == NormKind::LayerWithoutBias) return node(name, layer_norm(), {x, weight});
  if (kind == NormKind::Rms) return node(name, rms_norm(), {x, weight});
  return node(name, rms_norm(), {x, weight}, {{"unit_offset", 1}});
}

TensorId GraphBuilder::loss(TensorId logits, TensorSplit split) {
  Shape rows = graph[logits].shape;
  rows.pop_back();
  return node("loss", softmax_loss(), {logits, index("labels", std::move(rows))}, {}, split);
}

Block GraphBuilder::block(std::string name, std::int64_t count, bool layer, TensorId output) {
  graph.output = output;
  return Block{std::move(name), static_cast<int>(count), layer, std::move(graph)};
}

}  // namespace trainyard
