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

// Says that a plan has made a product sparse.
constexpr const char* kMadeSparse = "by_plan";

bool is_sparse_by_plan(const Node& node) {
  return dense_form(node.op) != nullptr && attribute(node, kMadeSparse) != 0;
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

std::int64_t size_of_row(const Shape& weight) {
  return local_elements({weight.begin() + 1, weight.end()}, Binding{});
}

bool can_be_sparse(const Graph& graph, const Node& node, std::int64_t block) {
  if (sparse_form(node.op) == nullptr || attribute(node, "groups", 1) != 1) return false;
  const Tensor& weight = graph[node.inputs[1]];
  std::ptrdiff_t readers = 0;
  for (const Node& other : graph.nodes)
    readers += std::count(other.inputs.begin(), other.inputs.end(), node.inputs[1]);
  const std::int64_t row = size_of_row(weight.shape);
  return weight.kind == TensorKind::Parameter && readers == 1 && row % block == 0 &&
         row / block < kMostOfPattern;
}

void make_sparse(Graph& graph, Node& node, const SparseSpec& spec) {
  Tensor& weight = graph.tensors[node.inputs[1].value];
  const Shape dense = weight.shape;
  const std::int64_t columns = size_of_row(dense);
  const SparseShape shape =
      with_density({dense[0].size, columns, spec.block, 0}, spec.density, spec.capacity);
  weight.shape = {{shape.blocks, Axis::None, 0}, {shape.block, Axis::None, 0}};
  Tensor pattern;
  pattern.name = weight.name + ".pattern";
  pattern.shape = {{shape.rows + shape.blocks, Axis::None, 0}};
  if (spec.sixteen_bits)
    pattern.shape.push_back({digits_in_16_bits(shape.row_blocks()), Axis::None, 0});
  pattern.kind = TensorKind::Parameter;
  node.inputs.insert(node.inputs.begin() + 2, graph.add(std::move(pattern)));
  node.op = sparse_form(node.op);
  for (const auto& [name, value] : {std::pair{"columns", columns},
                                    {"row_axis", static_cast<std::int64_t>(dense[0].axis)},
                                    {"row_units", dense[0].units},
                                    {"column_axis", static_cast<std::int64_t>(dense[1].axis)},
                                    {"column_units", dense[1].units},
                                    {kMadeSparse, std::int64_t{1}}})
    node.attributes[name] = value;
  if (shape.spare > 0) node.attributes["spare"] = shape.spare;
  if (dense.size() < 4) return;
  node.attributes["kernel_rows"] = dense[2].size;
  node.attributes["kernel_columns"] = dense[3].size;
}

void make_dense(Graph& graph, Node& node) {
  graph.tensors[node.inputs[1].value].shape = dense_shape(graph, node);
  node.inputs.erase(node.inputs.begin() + 2);
  node.op = dense_form(node.op);
  for (const char* name : {"columns", "row_axis", "row_units", "column_axis", "column_units",
                           "kernel_rows", "kernel_columns", "spare", kMadeSparse})
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
                "expected a product or convolution whose weight is its own, of whole blocks of " +
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
