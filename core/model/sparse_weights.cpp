#include "core/model/sparse_weights.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/ops.h"
#include "core/model/refit.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {
namespace {

// Says that a plan has made a product sparse, and what its rows were.
constexpr const char *kMadeSparse = "by_plan", *kRowAxis = "row_axis", *kRowUnits = "row_units";

bool is_sparse_by_plan(const Node& node) {
  return node.op == &sparse_matmul() && attribute(node, kMadeSparse) != 0;
}

std::set<std::string> tables_that_are_shared(const Model& model) {
  std::set<std::string> shared;
  for (const Block& block : model.blocks)
    for (const Tensor& tensor : block.graph.tensors)
      if (!tensor.tied_to.empty()) {
        shared.insert(tensor.tied_to);
        shared.insert(block.name + "/" + tensor.name);
      }
  return shared;
}

bool can_be_sparse(const Graph& graph, const Node& node, std::int64_t block) {
  if (node.op != &matmul()) return false;
  const Tensor& weight = graph[node.inputs[1]];
  std::ptrdiff_t readers = 0;
  for (const Node& other : graph.nodes)
    readers += std::count(other.inputs.begin(), other.inputs.end(), node.inputs[1]);
  return weight.kind == TensorKind::Parameter && readers == 1 &&
         weight.shape[1].size % block == 0 && weight.shape[1].size / block < kMostOfPattern;
}

void make_sparse(Graph& graph, Node& node, const SparseSpec& spec) {
  Tensor& weight = graph.tensors[node.inputs[1].value];
  const Dim rows = weight.shape[0], columns = weight.shape[1];
  const SparseShape shape = with_density({rows.size, columns.size, spec.block, 0}, spec.density);
  weight.shape = {{shape.blocks, Axis::None, 0}, {shape.block, Axis::None, 0}};
  Tensor pattern;
  pattern.name = weight.name + ".pattern";
  pattern.shape = {{shape.rows + shape.blocks, Axis::None, 0}};
  if (spec.sixteen_bits)
    pattern.shape.push_back({digits_in_16_bits(shape.row_blocks()), Axis::None, 0});
  pattern.kind = TensorKind::Parameter;
  node.inputs.insert(node.inputs.begin() + 2, graph.add(std::move(pattern)));
  node.op = &sparse_matmul();
  for (const auto& [name, value] : {std::pair{"columns", columns.size},
                                    {"column_axis", static_cast<std::int64_t>(columns.axis)},
                                    {"column_units", columns.units},
                                    {kRowAxis, static_cast<std::int64_t>(rows.axis)},
                                    {kRowUnits, rows.units},
                                    {kMadeSparse, std::int64_t{1}}})
    node.attributes[name] = value;
}

void make_dense(Graph& graph, Node& node) {
  const SparseShape shape = sparse_weight_of(graph, node)->shape;
  graph.tensors[node.inputs[1].value].shape = {
      {shape.rows, static_cast<Axis>(attribute(node, kRowAxis)), attribute(node, kRowUnits)},
      {shape.columns, static_cast<Axis>(attribute(node, "column_axis")),
       attribute(node, "column_units")}};
  node.inputs.erase(node.inputs.begin() + 2);
  node.op = &matmul();
  for (const char* name :
       {"columns", "column_axis", "column_units", kRowAxis, kRowUnits, kMadeSparse})
    node.attributes.erase(name);
}

}  // namespace

Model with_sparse_weights(Model model, const SparseSpec& spec, const Place& place) {
  const std::set<std::string> shared = tables_that_are_shared(model);
  bool any = false;
  for (Block& block : model.blocks)
    for (Node& node : block.graph.nodes) {
      if (!can_be_sparse(block.graph, node, spec.block) ||
          shared.contains(block.name + "/" + block.graph[node.inputs[1]].name))
        continue;
      make_sparse(block.graph, node, spec);
      any = true;
    }
  if (!any)
    throw Error(Error::Kind::InvalidInput,
                "expected a product whose weight is its own, of whole blocks of " +
                    std::to_string(spec.block) + " along its rows, found none in " + model.name,
                place);
  return model;
}

Model with_dense_weights(Model model) {
  for (Block& block : model.blocks) {
    bool any = false;
    for (Node& node : block.graph.nodes)
      if (is_sparse_by_plan(node)) make_dense(block.graph, node), any = true;
    if (any) block.graph = without_unused_tensors(block.graph);
  }
  return model;
}

bool has_sparse_weights(const Model& model) {
  return std::any_of(model.blocks.begin(), model.blocks.end(), [](const Block& block) {
    return std::any_of(block.graph.nodes.begin(), block.graph.nodes.end(), is_sparse_by_plan);
  });
}

}  // namespace trainyard
