#include "core/model/divided_rows.h"

#include <algorithm>
#include <map>

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

// Divides the rows of one graph, in its order.
class DividedGraph {
 public:
  DividedGraph(const Graph& graph, int ranks) : given_(graph), made_(graph), ranks_(ranks) {
    made_.nodes.clear();
  }

  Graph run() {
    for (const Node& one : given_.nodes) {
      Node node = one;
      if (!divides_rows_of(node))
        join_inputs(node);
      else if (const Halo halo = halo_of(node); halo.above > 0 || halo.below > 0)
        add_halo(node, halo);
      const std::vector<Tensor> outputs = node.op->infer(made_, node);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        made_.tensors[node.outputs[i].value].shape = outputs[i].shape;
      made_.nodes.push_back(std::move(node));
    }
    return std::move(made_);
  }

 private:
  const Dim* rows_of(TensorId id) const {
    const Tensor& tensor = made_[id];
    return is_image(tensor) && divides(tensor.shape[kRows]) ? &tensor.shape[kRows] : nullptr;
  }

  // Ops that treat each row of an image as they treat any other.
  static bool treats_rows_alike(const Op* op) {
    return op == &batch_norm() || op == &add() || op == &multiply() || op == &scale() ||
           op == &gelu() || op == &relu() || op == &tanh_op();
  }

  bool divides_rows_of(const Node& node) const {
    if (node.inputs.empty() || rows_of(node.inputs[0]) == nullptr) return false;
    if (node.op == &convolution() || node.op == &pooling()) return windows_divide(node);
    // An input of one row is repeated for all.
    return treats_rows_alike(node.op) &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId in) {
             return !is_image(made_[in]) || rows_of(in) != nullptr ||
                    made_[in].shape[kRows].size == 1;
           });
  }

  // Windows of a part of an image make a part of the result where there is one for each stride of
  // rows. A mean of the whole image is the sum of what ranks have of it.
  bool windows_divide(const Node& node) const {
    const std::int64_t rows = rows_of(node.inputs[0])->size, kernel = kernel_of(node);
    if (kernel == 0) return attribute(node, "average") != 0;
    const Halo halo = halo_of(node);
    const std::int64_t made = (rows + 2 * row_padding(node) - kernel) / stride_of(node) + 1;
    return made * stride_of(node) == rows && made % ranks_ == 0 &&
           std::max(halo.above, halo.below) <= rows / ranks_;
  }

  std::int64_t kernel_of(const Node& node) const {
    return node.op == &convolution() ? made_[node.inputs[1]].shape[kRows].size
                                     : attribute(node, "kernel");
  }
  static std::int64_t stride_of(const Node& node) {
    return attribute(node, "stride", node.op == &pooling() ? attribute(node, "kernel") : 1);
  }

  // The rows beside a part that its windows read. A window of the last row of a part may end before
  // the part does: then some of its own rows are not read, and none below.
  Halo halo_of(const Node& node) const {
    if (node.op != &convolution() && node.op != &pooling()) return {};
    const std::int64_t kernel = kernel_of(node), above = row_padding(node);
    if (kernel == 0) return {};
    return {above, std::max<std::int64_t>(0, kernel - stride_of(node) - above)};
  }

  void add_halo(Node& node, const Halo& halo) {
    std::map<std::string, std::int64_t> attributes = {
        {"above", halo.above}, {"below", halo.below}, {"leaf", attribute(node, "leaf")}};
    if (node.op == &pooling() && attribute(node, "average") == 0) attributes["largest"] = 1;
    node.inputs[0] =
        made_.add(node.name + ".halo", halo_rows(), {node.inputs[0]}, std::move(attributes));
    node.attributes["row_padding"] = 0;
  }

  // Gives the node whole images for those whose rows are divided; each is joined once.
  void join_inputs(Node& node) {
    for (TensorId& in : node.inputs) {
      if (rows_of(in) == nullptr) continue;
      const auto [entry, is_new] = whole_.try_emplace(in.value);
      if (is_new)
        entry->second = made_.add(made_[in].name + ".rows", halo_rows(), {in},
                                  {{"all", 1}, {"leaf", attribute(node, "leaf")}});
      in = entry->second;
    }
  }

  const Graph& given_;
  Graph made_;
  const int ranks_;
  std::map<std::uint32_t, TensorId> whole_;  // by tensor whose rows are divided
};

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
  if (model.blocks.empty()) return false;
  const Graph& first = model.blocks.front().graph;
  return first.input.valid() && is_image(first[first.input]) &&
         divides(first[first.input].shape[kRows]);
}

Model with_divided_rows(Model model, int ranks) {
  if (!has_divisible_rows(model)) return model;
  Dim rows{0, Axis::Rows, 0};
  for (Block& block : model.blocks) {
    Graph& graph = block.graph;
    if (graph.input.valid() && is_image(graph[graph.input]))
      graph.tensors[graph.input.value].shape[kRows].axis = rows.axis;
    graph = DividedGraph(graph, ranks).run();
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
      for (TensorId& in : node.inputs)
        for (const Node& halo : graph.nodes)
          if (halo.op == &halo_rows() && in == halo.outputs[0]) {
            in = halo.inputs[0];
            if (attribute(halo, "all") == 0) node.attributes.erase("row_padding");
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

bool has_part_of_rows(const Tensor& image, const Binding& binding) {
  return is_image(image) && divides(image.shape[kRows]) && parts(image.shape[kRows], binding) > 1;
}

std::string undivided_rows(const Model& model, int ranks) {
  if (!has_divisible_rows(model))
    return model.name + " reads no images whose rows ranks could divide";
  const Graph& first = model.blocks.front().graph;
  const std::int64_t rows = first[first.input].shape[kRows].size;
  if (rows % ranks != 0)
    return std::to_string(ranks) +
           " ranks have equal parts of the rows of an image, and those of " + model.name +
           " have " + std::to_string(rows);
  // The layers of a repeated block are all alike.
  for (const Block& block : with_divided_rows(model, ranks).blocks) {
    const Graph& graph = block.graph;
    if (block.count > 1 && graph.input.valid() && is_image(graph[graph.input]) &&
        graph[graph.input].shape[kRows].axis != graph[graph.output].shape[kRows].axis)
      return std::to_string(ranks) + " ranks divide the rows that the first layer of " +
             block.name + " reads, and not those that it makes for the next";
  }
  return "";
}

}  // namespace trainyard
