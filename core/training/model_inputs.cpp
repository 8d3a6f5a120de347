#include "core/training/model_inputs.h"

#include <algorithm>
#include <set>

#include "core/model/ops.h"

namespace trainyard {
namespace {

// The op that reads an index decides what it is an index into.
void set_index_role(ModelInput& input) {
  const Graph& graph = input.block->graph;
  for (const Node& node : graph.nodes) {
    if (const auto rows = table_rows(graph, node); rows && node.inputs[0] == input.tensor) {
      input.role =
          graph[input.tensor].name == "position_ids" ? InputRole::Positions : InputRole::Rows;
      input.limit = rows->size;
      return;
    }
    if (node.op->name == "softmax_loss" && node.inputs[1] == input.tensor) {
      input.role = InputRole::Labels;
      input.limit = std::max<std::int64_t>(2, graph[node.inputs[0]].shape.back().size);
      return;
    }
  }
}

// Targets of a squared error are numbers that no node produces, like samples.
void append_inputs(const Block& block, bool first, std::vector<ModelInput>& found) {
  const Graph& graph = block.graph;
  std::set<TensorId> made;
  for (const Node& node : graph.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  if (!first && graph.input.valid()) made.insert(graph.input);
  if (graph.side_input.valid()) made.insert(graph.side_input);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorId id{static_cast<std::uint32_t>(i)};
    if (graph[id].kind == TensorKind::Parameter || made.contains(id)) continue;
    ModelInput input{&block, id};
    if (graph[id].kind == TensorKind::Index) {
      input.role = InputRole::Rows;
      set_index_role(input);
    }
    found.push_back(input);
  }
}

}  // namespace

std::vector<ModelInput> model_inputs(const Model& model) {
  std::vector<ModelInput> found;
  for (const Block& block : model.blocks)
    append_inputs(block, &block == &model.blocks.front(), found);
  return found;
}

ModelInput model_input(const DataRequest& request) {
  for (const Block& block : request.model.blocks) {
    if (&block.graph != &request.graph) continue;
    std::vector<ModelInput> found;
    append_inputs(block, &block == &request.model.blocks.front(), found);
    for (const ModelInput& input : found)
      if (input.tensor == request.tensor) return input;
  }
  throw Error(Error::Kind::InvalidInput, "the tensor \"" + request.graph[request.tensor].name +
                                             "\" of " + request.model.name +
                                             " does not come from outside the model");
}

bool has_axis(const Tensor& tensor, Axis axis) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(),
                     [&](const Dim& dim) { return dim.axis == axis; });
}

Diagnostic unfit(const Model& model, std::string sentence, std::string fix) {
  return {
      Diagnostic::Severity::Error, std::move(sentence), {"model " + model.name}, std::move(fix)};
}

}  // namespace trainyard
