#include "core/model/refit.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr Dim kPlain{1, Axis::None, 0};

Dim plain(std::int64_t size) { return {size, Axis::None, 0}; }

// Refitting works on one block: its graph, and a copy of the tensors as they were before.
class Refitting {
 public:
  Refitting(Block& block, std::vector<TensorId> pinned)
      : block_(block), before_(block.graph), pinned_(std::move(pinned)) {}

  void run() {
    // Each round settles at least one width, and there are no more widths than tensors.
    for (std::size_t round = 0; round <= graph().tensors.size(); ++round)
      if (settled()) return;
    refuse(block_.name, "expected widths that fit each other, found none that all nodes accept");
  }

 private:
  Block& block_;
  const Graph before_;
  std::vector<TensorId> pinned_;

  Graph& graph() { return block_.graph; }
  Tensor& tensor(TensorId id) { return block_.graph.tensors[id.value]; }
  std::string where(const Node& node) const { return block_.name + "/" + node.name; }

  [[noreturn]] static void refuse(const std::string& place, const std::string& sentence) {
    throw Error(Error::Kind::InvalidInput, sentence, Place{place});
  }

  bool settled() {
    for (const Node& node : graph().nodes) {
      fit_parameters(node);
      if (!branches_meet(node)) return false;
      infer(node);
    }
    return repeats();
  }

  void infer(const Node& node) {
    try {
      const std::vector<Tensor> made = node.op->infer(graph(), node);
      for (std::size_t i = 0; i < made.size() && i < node.outputs.size(); ++i)
        tensor(node.outputs[i]).shape = made[i].shape;
    } catch (const Error& error) {
      std::string sentence = error.what();
      const std::string address = node.name + " (" + std::string(node.op->name) + "): ";
      if (sentence.starts_with(address)) sentence.erase(0, address.size());
      refuse(where(node), sentence);
    }
  }

  // Weights take the width of the input that they multiply; labels take one element per row.
  void fit_parameters(const Node& node) {
    if (node.inputs.empty()) return;
    const Shape x = tensor(node.inputs[0]).shape;
    const Op* op = node.op;
    if (op == &convolution() || op == &batch_norm()) return fit_image(node, x);
    if (op == &softmax_loss() || op == &squared_error()) return fit_target(node, x);
    if (x.empty()) return;
    if (op == &matmul() || op == &router()) {
      set(node, 1, 0, x.back());
      if (node.inputs.size() > 2) set(node, 2, 0, tensor(node.inputs[1]).shape.back());
    } else if (op == &routed_matmul()) {
      set(node, 1, 1, x.back());
      set(node, 2, 1, tensor(node.inputs[1]).shape.back());
    } else if (op == &layer_norm() || op == &rms_norm() || op == &layer_scale()) {
      fit_norm(node, x.back());
    } else if (op == &formula_op()) {
      for (std::size_t i = 1; i < node.inputs.size(); ++i) set(node, i, 0, x.back());
    } else if (op == &lstm() && x.back().size % 4 == 0) {
      set(node, 1, 0, plain(x.back().size / 4));
      set(node, 1, 1, plain(x.back().size));
    }
  }

  void fit_image(const Node& node, const Shape& x) {
    if (x.size() != 4) return;
    if (node.op == &convolution()) {
      const std::int64_t groups = std::max<std::int64_t>(1, attribute(node, "groups", 1));
      if (x[1].size % groups == 0) set(node, 1, 1, plain(x[1].size / groups));
      if (node.inputs.size() > 2) set(node, 2, 0, tensor(node.inputs[1]).shape.front());
      return;
    }
    for (std::size_t i = 1; i < node.inputs.size(); ++i) set(node, i, 0, x[1]);
  }

  void fit_target(const Node& node, Shape x) {
    if (node.inputs.size() < 2) return;
    if (node.op == &softmax_loss() && !x.empty()) x.pop_back();
    Tensor& target = tensor(node.inputs[1]);
    bool same = target.shape.size() == x.size();
    for (std::size_t i = 0; same && i < x.size(); ++i) same = target.shape[i].size == x[i].size;
    if (!same) target.shape = std::move(x);
  }

  // A norm per head stays one: it is recognised by a weight that was one head wide.
  void fit_norm(const Node& node, const Dim& width) {
    const Shape &was = before_[node.inputs[0]].shape, &weight = before_[node.inputs[1]].shape;
    const bool by_head = !was.empty() && was.back().units > 1 && weight.size() == 1 &&
                         weight[0].size == was.back().size / was.back().units;
    const std::int64_t size = by_head && width.units > 0 ? width.size / width.units : width.size;
    const bool divided = weight.size() == 1 && weight[0].axis != Axis::None;  // over all heads
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      set(node, i, 0, divided ? width : plain(size));
  }

  void set(const Node& node, std::size_t input, std::size_t at, const Dim& dim) {
    if (input >= node.inputs.size()) return;
    Tensor& t = tensor(node.inputs[input]);
    if (t.kind == TensorKind::Parameter && at < t.shape.size()) t.shape[at] = dim;
  }

  // A branch that is added takes the stream's width; the second part of a gate takes the width of
  // the first.
  bool branches_meet(const Node& node) {
    if (node.inputs.size() < 2) return true;
    const bool sum = node.op == &add(), gate = node.op == &gated_silu() ||
                                               node.op == &gated_gelu() || node.op == &multiply();
    if (node.op == &formula_op()) return others_meet_first(node);
    if (!sum && !gate) return true;
    const TensorId follower = node.inputs[sum ? 0 : 1], stream = node.inputs[sum ? 1 : 0];
    return !demand(node, follower, tensor(stream).shape);
  }

  // All activations that a formula reads take the width of the first.
  bool others_meet_first(const Node& node) {
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (tensor(node.inputs[i]).kind != TensorKind::Parameter &&
          demand(node, node.inputs[i], tensor(node.inputs[0]).shape))
        return false;
    return true;
  }

  bool repeats() {
    const TensorId in = graph().input, out = graph().output;
    if (block_.count < 2 || !in.valid() || tensor(in).kind == TensorKind::Index) return true;
    const Shape &a = tensor(in).shape, &b = tensor(out).shape;
    for (std::size_t i = 0; i < a.size() && a.size() == b.size(); ++i)
      if (a[i].size != b[i].size && i != width_at(a))
        refuse(block_.name, "expected an output like the input " + to_text(a) +
                                ", because the block is repeated, found " + to_text(b));
    if (a.size() != b.size())
      refuse(block_.name, "expected an output like the input " + to_text(a) +
                              ", because the block is repeated, found " + to_text(b));
    for (const Node& node : graph().nodes)
      if (std::find(node.outputs.begin(), node.outputs.end(), out) != node.outputs.end())
        return !demand(node, out, a);
    return true;
  }

  // Returns the dimension that holds features: the channels of an image, else the last.
  static std::size_t width_at(const Shape& shape) {
    return shape.size() == 4 ? 1 : shape.empty() ? 0 : shape.size() - 1;
  }

  // Gives the tensor the wanted width if it has another, and returns whether that was necessary. A
  // second input of size 1 may be repeated instead.
  bool demand(const Node& reader, TensorId id, const Shape& wanted) {
    const Shape& found = tensor(id).shape;
    if (found.size() != wanted.size() || wanted.empty()) return false;
    const std::size_t at = width_at(wanted);
    if (found[at].size == wanted[at].size || wanted[at].size == kPlain.size) return false;
    if (widen(id, wanted[at])) return true;
    refuse(where(reader), "expected " + graph()[id].name + " to be " +
                              std::to_string(wanted[at].size) + " wide, as what it meets, found " +
                              std::to_string(found[at].size));
  }

  const Node* maker(TensorId id) {
    for (const Node& node : graph().nodes)
      if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end())
        return &node;
    return nullptr;
  }

  bool pinned(TensorId id) const {
    return std::any_of(pinned_.begin(), pinned_.end(),
                       [&](TensorId p) { return p.value == id.value; });
  }

  // Gives the node that produces the tensor that output width; returns false where no node on the
  // way has a width of its own.
  bool widen(TensorId id, const Dim& width) {
    const Node* node = maker(id);
    if (node == nullptr || node->inputs.empty()) return false;
    const Op* op = node->op;
    std::optional<std::size_t> at;
    if (op == &matmul() || op == &embedding()) at = 1;
    if (op == &convolution()) at = 0;
    if (op == &routed_matmul()) at = 2;
    if (at) {
      Tensor& weight = tensor(node->inputs[1]);
      if (pinned(node->inputs[1]) || *at >= weight.shape.size()) return false;
      Dim& out = weight.shape[*at];
      if (out.units > 0 && width.size % out.units != 0) return false;
      out.size = width.size;
      return true;
    }
    if (op == &lstm()) return widen(node->inputs[0], plain(4 * width.size));
    const bool passes =
        op == &dropout() || op == &scale() || op == &relu() || op == &gelu() || op == &tanh_op() ||
        op == &layer_norm() || op == &rms_norm() || op == &batch_norm() || op == &pooling() ||
        op == &rotary() || op == &combine() || op == &gated_silu() || op == &gated_gelu() ||
        op == &multiply() || op == &squared_relu() || op == &layer_scale() || op == &formula_op();
    if (passes) return widen(node->inputs[0], width);
    if (op == &add()) return widen(node->inputs[1], width) || widen(node->inputs[0], width);
    return false;
  }
};

}  // namespace

Model refitted(Model model, const std::vector<PinnedTensor>& pinned) {
  Shape side;  // the encoder's output, which every block of a decoder reads
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    Block& block = model.blocks[b];
    Graph& graph = block.graph;
    if (b > 0 && graph.input.valid() && graph[graph.input].kind != TensorKind::Index) {
      const Graph& before = model.blocks[b - 1].graph;
      graph.tensors[graph.input.value].shape = before[before.output].shape;
    }
    if (graph.side_input.valid()) {
      if (graph.side_input == graph.input) side = graph[graph.input].shape;
      if (!side.empty()) graph.tensors[graph.side_input.value].shape = side;
    }
    std::vector<TensorId> own;
    for (const PinnedTensor& pin : pinned)
      if (pin.block == static_cast<int>(b)) own.push_back(pin.tensor);
    Refitting(block, std::move(own)).run();
  }
  for (Block& block : model.blocks)
    for (Tensor& tensor : block.graph.tensors)
      if (!tensor.tied_to.empty() && !shared_parameter(model, tensor)) tensor.tied_to.clear();
  return model;
}

const Tensor* shared_parameter(const Model& model, const Tensor& tied) {
  for (const Block& block : model.blocks) {
    if (!tied.tied_to.starts_with(block.name + "/")) continue;
    for (const Tensor& tensor : block.graph.tensors)
      if (tensor.name == tied.tied_to.substr(block.name.size() + 1) && tensor.tied_to.empty() &&
          tensor.kind == TensorKind::Parameter &&
          local_elements(tensor.shape, Binding{}) == local_elements(tied.shape, Binding{}))
        return &tensor;
  }
  return nullptr;
}

Graph without_unused_tensors(const Graph& graph) {
  std::vector<bool> used(graph.tensors.size());
  const auto use = [&](TensorId id) {
    if (id.valid()) used[id.value] = true;
  };
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) use(id);
    for (const TensorId id : node.outputs) use(id);
  }
  for (const TensorId id : {graph.input, graph.output, graph.side_input}) use(id);
  Graph kept;
  std::vector<TensorId> now(graph.tensors.size());
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) now[i] = kept.add(graph.tensors[i]);
  const auto moved = [&](TensorId id) { return id.valid() ? now[id.value] : id; };
  for (Node node : graph.nodes) {
    for (TensorId& id : node.inputs) id = moved(id);
    for (TensorId& id : node.outputs) id = moved(id);
    kept.nodes.push_back(std::move(node));
  }
  kept.input = moved(graph.input);
  kept.output = moved(graph.output);
  kept.side_input = moved(graph.side_input);
  return kept;
}

}  // namespace trainyard
