// This file builds networks of plain products: the multi-layer perceptron, and the recommender,
// which joins two of them with embedding tables.
#include "core/base/error.h"
#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

TensorId vector_input(GraphBuilder& builder, std::int64_t width) {
  return builder.graph.input = builder.activation("input", {kBatch, whole(width)});
}

TensorId activated(GraphBuilder& builder, const std::string& name, TensorId x, std::int64_t width,
                   bool leaf = false) {
  const TensorId h = builder.linear(name, x, whole(width), true, TensorSplit::None, {}, leaf);
  return builder.node(name + ".relu", relu(), {h});
}

}  // namespace

Model build_mlp(const MlpSpec& spec) {
  if (spec.inputs < 1 || spec.hidden < 1 || spec.hidden_layers < 1 || spec.outputs < 1)
    throw Error(Error::Kind::InvalidInput, spec.name + ": expected sizes of at least 1");
  Model model;
  model.name = spec.name;
  model.family = "mlp";
  model.tokens = false;
  GraphBuilder start;
  const TensorId first =
      activated(start, "fc", vector_input(start, spec.inputs), spec.hidden, true);
  model.blocks.push_back(start.block("input", 1, false, first));
  GraphBuilder layer;
  const TensorId hidden = activated(layer, "fc", vector_input(layer, spec.hidden), spec.hidden);
  model.blocks.push_back(layer.block("layers", spec.hidden_layers, true, hidden));
  GraphBuilder end;
  const TensorId outputs =
      end.linear("fc", vector_input(end, spec.hidden), whole(spec.outputs), true);
  const TensorId loss =
      spec.regression ? end.node("loss", squared_error(),
                                 {outputs, end.activation("target", {kBatch, whole(spec.outputs)})})
                      : end.loss(outputs);
  model.blocks.push_back(end.block("head", 1, false, loss));
  return model;
}

Model build_recommender(const RecommenderSpec& spec) {
  if (spec.tables.empty() || spec.bottom.empty() || spec.top.size() < 2 ||
      spec.bottom.back() != spec.width)
    throw Error(Error::Kind::InvalidInput, spec.name +
                                               ": expected tables and two networks, the bottom one "
                                               "ending with the width of the vectors, " +
                                               std::to_string(spec.width));
  Model model;
  model.name = spec.name;
  model.family = "dlrm";
  model.tokens = false;

  GraphBuilder low;
  TensorId x = vector_input(low, spec.dense);
  for (std::size_t i = 0; i < spec.bottom.size(); ++i)
    x = activated(low, "bottom." + std::to_string(i), x, spec.bottom[i], i == 0);
  std::vector<TensorId> vectors = {x};
  for (std::size_t i = 0; i < spec.tables.size(); ++i) {
    const std::string name = "tables." + std::to_string(i);
    const TensorId rows = low.index(name + ".ids", {kBatch});
    const TensorId table =
        low.parameter(name + ".weight", {whole(spec.tables[i]), whole(spec.width)});
    vectors.push_back(low.node(name, embedding(), {rows, table}, {{"lookups", 1}}));
  }
  const TensorId joined = low.node("interaction", dot_interaction(), vectors);
  const std::int64_t width = low.graph[joined].shape[1].size;
  model.blocks.push_back(low.block("bottom", 1, true, joined));

  GraphBuilder high;
  x = vector_input(high, width);
  for (std::size_t i = 0; i + 1 < spec.top.size(); ++i)
    x = activated(high, "top." + std::to_string(i), x, spec.top[i]);
  model.blocks.push_back(high.block("top", 1, true, x));

  GraphBuilder end;
  const TensorId last = vector_input(end, spec.top[spec.top.size() - 2]);
  const TensorId logit = end.linear("logit", last, whole(spec.top.back()), true);
  model.blocks.push_back(end.block("head", 1, false, end.loss(logit)));
  return model;
}

}  // namespace trainyard
