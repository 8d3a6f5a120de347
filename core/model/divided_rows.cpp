#include "core/model/divided_rows.h"

#include <algorithm>
#include <optional>

#include "core/model/ops.h"
#include "core/model/refit.h"

namespace trainyard {
namespace {

constexpr std::size_t kRows = 2;  // dimension of an image [batch, channels, height, width]

bool is_image(const Tensor& tensor) {
  return tensor.shape.size() == 4 && tensor.kind == TensorKind::Activation;
}

bool has_sequence(const Tensor& tensor) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(), [](const Dim& d) {
    return d.axis == Axis::Sequence || d.axis == Axis::SequenceRegion;
  });
}

bool divides(const Dim& dim) { return dim.axis == Axis::Rows || dim.axis == Axis::HaloRows; }

struct Halo {
  std::int64_t above = 0, below = 0;
};

// The rows beside a part that its windows read. A window of the last row of a part may end before
// the part does: then some of its own rows are not read, and none below. None where windows of
// parts would not be those of the image, of which there is one for each stride of rows.
std::optional<Halo> halo_of(const Graph& graph, const Node& node) {
  std::int64_t kernel = 0, stride = 1;
  if (node.op == &convolution()) {
    kernel = graph[node.inputs[1]].shape[kRows].size, stride = attribute(node, "stride", 1);
  } else if (node.op == &pooling()) {
    kernel = attribute(node, "kernel"), stride = attribute(node, "stride", kernel);
  }
  if (kernel == 0) return {};
  const std::int64_t above = row_padding(node);
  const Halo halo{above, std::max<std::int64_t>(0, kernel - stride - above)};
  if (halo.above == 0 && halo.below == 0) return {};
  const std::int64_t rows = graph[node.inputs[0]].shape[kRows].size,
                     with = (rows + halo.above + halo.below - kernel) / stride + 1;
  if (with != (rows + 2 * above - kernel) / stride + 1) return {};
  return halo;
}

// Ops that treat each row of an image as they treat any other.
bool treats_rows_alike(const Op* op) {
  return op == &batch_norm() || op == &add() || op == &multiply() || op == &scale() ||
         op == &gelu() || op == &relu() || op == &tanh_op();
}

// Writes the graph anew, in its order, with a halo before every node that needs one.
Graph divided(const Graph& graph) {
  Graph made = graph;
  made.nodes.clear();
  for (const Node& one : graph.nodes) {
    Node node = one;
    const Dim rows = is_image(made[node.inputs[0]]) ? made[node.inputs[0]].shape[kRows] : Dim{};
    const std::optional<Halo> halo = rows.axis == Axis::Rows ? halo_of(made, node) : std::nullopt;
    if (halo) {
      std::map<std::string, std::int64_t> attributes = {
          {"above", halo->above}, {"below", halo->below}, {"leaf", attribute(node, "leaf")}};
      if (node.op == &pooling() && attribute(node, "average") == 0) attributes["largest"] = 1;
      node.inputs[0] =
          made.add(node.name + ".halo", halo_rows(), {node.inputs[0]}, std::move(attributes));
      node.attributes["row_padding"] = 0;
    }
    const std::vector<Tensor> outputs = node.op->infer(made, node);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      made.tensors[node.outputs[i].value].shape = outputs[i].shape;
    made.nodes.push_back(std::move(node));
  }
  return made;
}

}  // namespace

bool has_divisible_rows(const Model& model) {
  if (model.blocks.empty()) return false;
  const Graph& first = model.blocks.front().graph;
  if (!first.input.valid() || !is_image(first[first.input])) return false;
  return std::none_of(model.blocks.begin(), model.blocks.end(), [](const Block& block) {
    return std::any_of(block.graph.tensors.begin(), block.graph.tensors.end(), has_sequence);
  });
}

bool has_divided_rows(const Model& model) {
  if (!has_divisible_rows(model)) return false;
  const Graph& first = model.blocks.front().graph;
  return divides(first[first.input].shape[kRows]);
}

Model with_divided_rows(Model model) {
  if (!has_divisible_rows(model)) return model;
  Dim rows;
  for (Block& block : model.blocks) {
    Graph& graph = block.graph;
    if (graph.input.valid() && is_image(graph[graph.input])) {
      Tensor& input = graph.tensors[graph.input.value];
      if (&block == &model.blocks.front() || divides(rows)) input.shape[kRows].axis = Axis::Rows;
    }
    graph = divided(graph);
    rows = is_image(graph[graph.output]) ? graph[graph.output].shape[kRows] : Dim{};
  }
  return model;
}

Model with_whole_rows(Model model) {
  for (Block& block : model.blocks) {
    Graph& graph = block.graph;
    for (Tensor& tensor : graph.tensors)
      for (Dim& dim : tensor.shape)
        if (divides(dim)) dim = {dim.size, Axis::None, 0};
    std::vector<Node> nodes;
    for (Node& node : graph.nodes) {
      if (node.op == &halo_rows()) continue;
      for (const Node& halo : graph.nodes)
        if (halo.op == &halo_rows() && node.inputs[0] == halo.outputs[0]) {
          node.inputs[0] = halo.inputs[0];
          node.attributes.erase("row_padding");
        }
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
    graph = without_unused_tensors(graph);
  }
  return model;
}

NodePlace place_as_given(const Graph& graph, NodeId id) {
  NodePlace found{id.value, graph.nodes.size()};
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != &halo_rows()) continue;
    --found.of;
    if (n < id.value) --found.place;
  }
  return found;
}

std::string undivided_rows(const Model& model, int ranks) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes) {
      const Graph& graph = block.graph;
      const auto image = [&](TensorId id) -> const Dim* {
        const Tensor& t = graph[id];
        return is_image(t) && divides(t.shape[kRows]) ? &t.shape[kRows] : nullptr;
      };
      const Dim* rows = nullptr;
      for (const TensorId in : node.inputs)
        if (rows == nullptr) rows = image(in);
      if (rows == nullptr) continue;
      const std::string where = node.name + " of " + block.name;
      const std::int64_t own = rows->size - (rows->axis == Axis::HaloRows ? rows->units : 0);
      if (own % ranks != 0)
        return std::to_string(ranks) + " ranks have equal parts of the rows of an image, and " +
               where + " reads " + std::to_string(own);
      if (node.op == &halo_rows()) {
        const std::int64_t most = std::max(attribute(node, "above"), attribute(node, "below"));
        if (own / ranks < most)
          return where + " reads " + std::to_string(most) +
                 " rows beyond a part, which its neighbour does not have: each of " +
                 std::to_string(ranks) + " ranks has " + std::to_string(own / ranks);
        continue;
      }
      const bool whole = node.op == &pooling() && attribute(node, "kernel") == 0;
      if (whole && attribute(node, "average") == 0)
        return "ranks add up their means of an image, and " + where +
               " takes its largest value, which none of them knows";
      if (node.op != &convolution() && node.op != &pooling() && !treats_rows_alike(node.op))
        return where + " (" + std::string(node.op->name) +
               ") reads rows of an image that other ranks have";
      if (whole) continue;
      const std::int64_t made = graph[node.outputs[0]].shape[kRows].size,
                         stride = attribute(node, "stride", attribute(node, "kernel", 1));
      const bool windows = node.op == &convolution() || node.op == &pooling();
      if (windows && (made * stride != own || row_padding(node) != 0))
        return "windows of a part of an image make a part of the result where there is one for "
               "each stride of rows, and " +
               where + " makes " + std::to_string(made) + " of " + std::to_string(own) +
               " with a stride of " + std::to_string(stride);
      if (made % ranks != 0)
        return std::to_string(ranks) + " ranks have equal parts of the rows of an image, and " +
               where + " makes " + std::to_string(made);
    }
  return "";
}

}  // namespace trainyard
