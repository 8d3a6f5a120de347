// This file builds recurrent language models: the embedding and head of a transformer, with LSTM
// layers between them.
#include "core/base/error.h"
#include "core/model/graph_builder.h"

namespace trainyard {

Model build_lstm(const RecurrentSpec& spec) {
  if (spec.vocab < 1 || spec.hidden < 1 || spec.layers < 1 || spec.sequence < 1)
    throw Error(Error::Kind::InvalidInput, spec.name + ": expected sizes of at least 1");
  TransformerSpec ends = family_spec("gpt2");
  ends.name = spec.name;
  ends.family = "lstm";
  ends.names.embedding = "embedding";
  ends.names.head = "head";
  ends.hidden = spec.hidden;
  ends.vocab = spec.vocab;
  ends.sequence = spec.sequence;
  ends.positions = Positions::Rotary;  // rotary positions need no table
  ends.dropout = ends.final_norm = ends.tied = false;
  ends.head_bias = true;
  Model model = empty_model(ends);
  GraphBuilder start;
  const TensorId embedded = embed(start, ends, "input_ids");
  model.blocks.push_back(start.block("embedding", 1, false, embedded));
  GraphBuilder layer;
  const Dim gates = whole(4 * spec.hidden);
  const TensorId x = layer.linear("gates", layer.hidden_input(spec.hidden), gates, true);
  const TensorId weight = layer.parameter("lstm.weight", {whole(spec.hidden), gates});
  model.blocks.push_back(
      layer.block("layers", spec.layers, true, layer.node("lstm", lstm(), {x, weight})));
  model.blocks.push_back(language_head(ends, {}));
  return model;
}

}  // namespace trainyard
