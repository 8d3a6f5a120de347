#include "core/model/edit.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "core/model/refit.h"

namespace trainyard {
namespace {

std::string quoted(const std::string& text) { return "\"" + text.substr(0, 60) + "\""; }

void expect_block(const Model& model, int block) {
  if (block < 0 || block >= static_cast<int>(model.blocks.size()))
    refuse("model", "expected one of its " + std::to_string(model.blocks.size()) +
                        " blocks, found number " + std::to_string(block));
}

void expect_part(const Model& model, ModelPart part) {
  expect_block(model, part.block);
  const Block& block = model.blocks[static_cast<std::size_t>(part.block)];
  if (part.node < -1 || part.node >= static_cast<int>(block.graph.nodes.size()))
    refuse(block.name, "expected one of its " + std::to_string(block.graph.nodes.size()) +
                           " nodes, found number " + std::to_string(part.node));
}

Block& block_of(Model& model, ModelPart part) {
  return model.blocks[static_cast<std::size_t>(part.block)];
}

Model verified(Model model) {
  if (model.blocks.empty()) refuse("model", "expected at least one block, found none");
  for (Block& block : model.blocks) block.graph = without_unused_tensors(block.graph);
  if (layer_count(model) < 1)
    refuse("model", "expected at least one block that is a layer, found none");
  return refitted(std::move(model));
}

int readers(const Graph& graph, TensorId id) {
  int count = graph.output == id ? 1 : 0;
  for (const Node& node : graph.nodes)
    count += static_cast<int>(std::count(node.inputs.begin(), node.inputs.end(), id));
  return count;
}

void replace_reads(Graph& graph, TensorId from, TensorId to, int except_node) {
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    if (n != except_node)
      std::replace(graph.nodes[static_cast<std::size_t>(n)].inputs.begin(),
                   graph.nodes[static_cast<std::size_t>(n)].inputs.end(), from, to);
  if (graph.output == from) graph.output = to;
}

// Returns whether the node can be removed and replaced by its input: it has one activation as input
// and one as output, and no other op depends on its presence.
bool may_go(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return false;
  if (graph[node.inputs[0]].kind != TensorKind::Activation) return false;
  for (const Op* kept :
       {&router(), &dispatch(), &combine(), &routed_matmul(), &split_qkv(), &concat_heads(),
        &softmax_loss(), &squared_error(), &dot_interaction(), &patch_tokens(), &attention()})
    if (node.op == kept) return false;
  return true;
}

// Where two branches meet, the stream is kept and the branch dropped.
TensorId kept_input(const Node& node) {
  return node.op == &add() && node.inputs.size() > 1 ? node.inputs[1] : node.inputs[0];
}

std::string free_name(const Graph& graph, const std::string& base) {
  const auto taken = [&](const std::string& name) {
    for (const Tensor& tensor : graph.tensors)
      if (tensor.name == name || tensor.name.starts_with(name + ".")) return true;
    for (const Node& node : graph.nodes)
      if (node.name == name) return true;
    return false;
  };
  if (!taken(base)) return base;
  int number = 2;
  while (taken(base + "." + std::to_string(number))) ++number;
  return base + "." + std::to_string(number);
}

Model duplicated_node(Model model, ModelPart part, ModelPart* made) {
  Graph& graph = block_of(model, part).graph;
  const Node original = graph.nodes[static_cast<std::size_t>(part.node)];
  const std::string place = block_of(model, part).name + "/" + original.name;
  if (!may_go(graph, original) || original.op == &add() || original.op == &embedding())
    refuse(place, "expected a node that reads one tensor and makes one, found " +
                      std::string(original.op->name) + "; duplicate its block instead");
  Node copy = original;
  copy.name = free_name(graph, original.name);
  const TensorId from = original.outputs[0];
  for (std::size_t i = 1; i < copy.inputs.size(); ++i) {
    if (graph[copy.inputs[i]].kind != TensorKind::Parameter) continue;
    Tensor own = graph[copy.inputs[i]];
    const std::size_t dot = own.name.rfind('.');
    own.name = copy.name + (dot == std::string::npos ? ".weight" : own.name.substr(dot));
    own.tied_to.clear();
    copy.inputs[i] = graph.add(std::move(own));
  }
  Tensor out = graph[from];
  out.name = copy.name;
  copy.outputs = {graph.add(std::move(out))};
  copy.inputs[0] = from;
  // A second product in a row reads the output of the first whole, not a part of it.
  if (copy.op == &matmul() && copy.split != TensorSplit::None) {
    copy.split = TensorSplit::None;
  }
  replace_reads(graph, from, copy.outputs[0], -1);
  graph.nodes.insert(graph.nodes.begin() + part.node + 1, std::move(copy));
  if (made != nullptr) *made = {part.block, part.node + 1};
  return verified(std::move(model));
}

// Swaps the node with the one that produces its input.
Model swapped_with_maker(Model model, ModelPart part, ModelPart* moved_to) {
  Block& block = block_of(model, part);
  Graph& graph = block.graph;
  const auto at = static_cast<std::size_t>(part.node);
  const std::string place = block.name + "/" + graph.nodes[at].name;
  const TensorId middle = graph.nodes[at].inputs.empty() ? TensorId{} : kept_input(graph.nodes[at]);
  std::size_t maker = at;
  for (std::size_t n = 0; n < at; ++n)
    if (std::find(graph.nodes[n].outputs.begin(), graph.nodes[n].outputs.end(), middle) !=
        graph.nodes[n].outputs.end())
      maker = n;
  if (maker == at) refuse(place, "expected a node before it to change places with, found none");
  Node &first = graph.nodes[maker], &second = graph.nodes[at];
  if (!may_go(graph, first) || !may_go(graph, second) || first.op == &add() ||
      second.op == &add() || readers(graph, middle) != 1)
    refuse(place, "expected two nodes in a row, found that " + first.name + " and " + second.name +
                      " are joined to others too");
  const TensorId before = first.inputs[0], after = second.outputs[0];
  second.inputs[0] = before;
  second.outputs[0] = middle;
  first.inputs[0] = middle;
  first.outputs[0] = after;
  std::swap(graph.tensors[middle.value].name, graph.tensors[after.value].name);
  std::swap(graph.nodes[maker], graph.nodes[at]);
  if (moved_to != nullptr) *moved_to = {part.block, static_cast<int>(maker)};
  return verified(std::move(model));
}

Model moved_node(const Model& model, ModelPart part, int by, ModelPart* moved_to) {
  if (by < 0) return swapped_with_maker(model, part, moved_to);
  const Block& block = model.blocks[static_cast<std::size_t>(part.block)];
  const Node& node = block.graph.nodes[static_cast<std::size_t>(part.node)];
  for (std::size_t n = static_cast<std::size_t>(part.node) + 1; n < block.graph.nodes.size(); ++n) {
    const Node& next = block.graph.nodes[n];
    if (node.outputs.empty() || next.inputs.empty() || next.inputs[0] != node.outputs[0]) continue;
    Model result = swapped_with_maker(model, {part.block, static_cast<int>(n)}, nullptr);
    if (moved_to != nullptr) *moved_to = {part.block, static_cast<int>(n)};
    return result;
  }
  refuse(block.name + "/" + node.name,
         "expected a node after it to change places with, found none");
}

}  // namespace

std::string free_block_name(const Model& model, const std::string& base) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(model.blocks.begin(), model.blocks.end(),
                       [&](const Block& block) { return block.name == name; });
  };
  if (!taken(base)) return base;
  int number = 2;
  while (taken(base + "." + std::to_string(number))) ++number;
  return base + "." + std::to_string(number);
}

Model without(const Model& given, ModelPart part) {
  expect_part(given, part);
  Model model = given;
  if (part.node < 0) {
    model.blocks.erase(model.blocks.begin() + part.block);
    return verified(std::move(model));
  }
  Block& block = block_of(model, part);
  const Node node = block.graph.nodes[static_cast<std::size_t>(part.node)];
  if (!may_go(block.graph, node))
    refuse(block.name + "/" + node.name, "expected a node that others can do without, found " +
                                             std::string(node.op->name) +
                                             "; remove its block instead");
  if (block.graph.nodes.size() < 2)
    refuse(block.name, "expected at least one node to remain; remove the block instead");
  replace_reads(block.graph, node.outputs[0], kept_input(node), part.node);
  block.graph.nodes.erase(block.graph.nodes.begin() + part.node);
  return verified(std::move(model));
}

Model duplicated(const Model& given, ModelPart part, ModelPart* made) {
  expect_part(given, part);
  if (part.node >= 0) return duplicated_node(given, part, made);
  Model model = given;
  Block copy = block_of(model, part);
  copy.name = free_block_name(model, copy.name);
  model.blocks.insert(model.blocks.begin() + part.block + 1, std::move(copy));
  if (made != nullptr) *made = {part.block + 1, -1};
  return verified(std::move(model));
}

Model moved(const Model& given, ModelPart part, int by, ModelPart* moved_to) {
  expect_part(given, part);
  if (moved_to != nullptr) *moved_to = part;
  if (by == 0) return given;
  if (part.node >= 0) return moved_node(given, part, by < 0 ? -1 : 1, moved_to);
  const int to = part.block + by;
  if (to < 0 || to >= static_cast<int>(given.blocks.size()))
    refuse(given.blocks[static_cast<std::size_t>(part.block)].name,
           "expected a block to change places with, found the end of the model");
  Model model = given;
  Block block = std::move(block_of(model, part));
  model.blocks.erase(model.blocks.begin() + part.block);
  model.blocks.insert(model.blocks.begin() + to, std::move(block));
  if (moved_to != nullptr) *moved_to = {to, -1};
  return verified(std::move(model));
}

Model split_block(const Model& given, int at, int first) {
  expect_block(given, at);
  Model model = given;
  Block& block = model.blocks[static_cast<std::size_t>(at)];
  if (first < 1 || first >= block.count)
    refuse(block.name, "expected a first part of 1 to " + std::to_string(block.count - 1) +
                           " of its " + std::to_string(block.count) + " layers, found " +
                           std::to_string(first));
  Block rest = block;
  rest.name = free_block_name(model, block.name);
  rest.count = block.count - first;
  block.count = first;
  model.blocks.insert(model.blocks.begin() + at + 1, std::move(rest));
  return verified(std::move(model));
}

Model renamed_block(const Model& given, int at, const std::string& name) {
  expect_block(given, at);
  Model model = given;
  const std::string before = model.blocks[static_cast<std::size_t>(at)].name;
  if (name == before) return model;
  if (name.empty() || name.find('/') != std::string::npos || name.size() > 200)
    refuse(before, "expected a name of 1 to 200 characters without \"/\", found " + quoted(name));
  if (free_block_name(model, name) != name)
    refuse(before, "expected a name that no other block has, found " + quoted(name));
  model.blocks[static_cast<std::size_t>(at)].name = name;
  for (Block& block : model.blocks)
    for (Tensor& tensor : block.graph.tensors)
      if (tensor.tied_to.compare(0, before.size() + 1, before + "/") == 0)
        tensor.tied_to = name + tensor.tied_to.substr(before.size());
  return model;
}

namespace {

constexpr const char* kShare = "percent_of_positions";

}  // namespace

Model with_share_of_positions(Model model, std::string_view name, std::int64_t percent) {
  for (Block& block : model.blocks)
    if (block.name == name)
      for (Node& node : block.graph.nodes) node.attributes[kShare] = percent;
  return model;
}

double share_of_positions(const Node& node) {
  return static_cast<double>(attribute(node, kShare, 100)) / 100;
}

}  // namespace trainyard
