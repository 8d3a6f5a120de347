#include "core/io/models/onnx_import.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostDimension = std::int64_t{1} << 28;
constexpr int kMostNodes = 100'000;

bool is_float(std::int32_t type) {
  using onnx::TensorProto;
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 ||
         type == TensorProto::BFLOAT16 || type == TensorProto::DOUBLE;
}

// A Weight is a weight of the file: its sizes, never its values.
struct Weight {
  std::vector<std::int64_t> sizes;
  bool trained = false;  // it has a floating-point format
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes)
      if (__builtin_mul_overflow(product, size, &product))
        return std::numeric_limits<std::int64_t>::max();
    return product;
  }
};

std::int64_t first_integer(const onnx::NodeProto& node, const char* name, std::int64_t usual) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    return attribute.ints_size() > 0 ? attribute.ints(0) : attribute.i();
  }
  return usual;
}

bool all_equal(const onnx::NodeProto& node, const char* name) {
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name)
      for (const std::int64_t value : attribute.ints())
        if (value != attribute.ints(0)) return false;
  return true;
}

// A Near is an ONNX operator that keeps the shape and is priced as one of our ops.
struct Near {
  std::string_view onnx;
  const Op& (*op)();
  bool same;  // it is the same op, and not only of similar cost
};
const Near kElementwise[] = {
    {"Relu", relu, true},        {"LeakyRelu", relu, false}, {"PRelu", relu, false},
    {"Clip", relu, false},       {"HardSwish", relu, false}, {"HardSigmoid", relu, false},
    {"Sigmoid", tanh_op, false}, {"Tanh", tanh_op, true},    {"Erf", gelu, false},
    {"Gelu", gelu, true},        {"Elu", gelu, false},       {"Exp", relu, false},
    {"Sqrt", relu, false},       {"Softplus", gelu, false},
};

class OnnxReader {
 public:
  OnnxReader(const onnx::GraphProto& graph, std::string place)
      : graph_(graph), place_(std::move(place)) {}

  ImportedModel read() {
    if (graph_.node_size() > kMostNodes)
      refuse(place_, "expected at most " + std::to_string(kMostNodes) + " nodes, found " +
                         std::to_string(graph_.node_size()));
    collect_weights();
    count_readers();
    open_input();
    for (const onnx::NodeProto& node : graph_.node()) {
      if (node.op_type() == "Constant") continue;
      at_ = place_ + "#" + (node.name().empty() ? node.op_type() : node.name());
      read_node(node);
      cut();
    }
    return finish();
  }

 private:
  const onnx::GraphProto& graph_;
  std::string place_, at_;
  std::map<std::string, Weight> weights_;
  std::map<std::string, int> readers_;      // readers of each activation that are still to come
  std::map<std::string, TensorId> values_;  // activations of the current block
  std::set<std::string> used_;
  std::map<std::string, std::string> priced_as_;
  std::set<std::string> unknown_;
  GraphBuilder builder_;
  std::string last_;  // the newest activation
  Model model_;
  int fields_ = 0;

  void add_weight(const std::string& name, const onnx::TensorProto& tensor) {
    Weight weight;
    weight.trained = is_float(tensor.data_type());
    for (const std::int64_t size : tensor.dims()) {
      if (size < 0 || size > kMostDimension)
        refuse(place_ + "#" + name, "expected dimensions of 0 to " +
                                        std::to_string(kMostDimension) + ", found " +
                                        std::to_string(size));
      weight.sizes.push_back(size);
    }
    weights_[name] = std::move(weight);
  }

  void collect_weights() {
    for (const onnx::TensorProto& tensor : graph_.initializer()) add_weight(tensor.name(), tensor);
    for (const onnx::NodeProto& node : graph_.node()) {
      if (node.op_type() != "Constant" || node.output_size() < 1) continue;
      weights_[node.output(0)] = {};
      for (const onnx::AttributeProto& attribute : node.attribute())
        if (attribute.has_t()) add_weight(node.output(0), attribute.t());
    }
  }

  void count_readers() {
    for (const onnx::NodeProto& node : graph_.node())
      for (const std::string& input : node.input())
        if (!weights_.contains(input)) ++readers_[input];
  }

  // Sequences are [batch, sequence, width] in ONNX and [sequence, batch, width] here.
  void open_input() {
    const onnx::ValueInfoProto* first = nullptr;
    for (const onnx::ValueInfoProto& input : graph_.input())
      if (!weights_.contains(input.name()) && first == nullptr) first = &input;
    if (first == nullptr || !first->type().has_tensor_type())
      refuse(place_, "expected an input that is a tensor, found none");
    const onnx::TensorShapeProto& shape = first->type().tensor_type().shape();
    Shape sizes;
    for (int d = 0; d < shape.dim_size(); ++d) {
      const std::int64_t size = shape.dim(d).dim_value();
      if (d > 0 && (size < 0 || size > kMostDimension))
        refuse(place_ + "#" + first->name(), "expected dimensions of at most " +
                                                 std::to_string(kMostDimension) + ", found " +
                                                 std::to_string(size));
      sizes.push_back(d == 0 ? kBatch : whole(size > 0 ? size : usual_size(shape.dim_size(), d)));
    }
    if (sizes.size() < 2 || sizes.size() > 4)
      refuse(place_ + "#" + first->name(),
             "expected an input of 2 to 4 dimensions, the batch first, found " +
                 std::to_string(sizes.size()));
    if (sizes.size() == 3) std::swap(sizes[0], sizes[1]);
    model_.tokens = false;
    values_[first->name()] = builder_.graph.input = builder_.activation("input", sizes);
    last_ = first->name();
  }

  // Chooses a size for an open height, width or length; channels are never open in practice.
  std::int64_t usual_size(int rank, int at) {
    const std::int64_t size = rank == 4 ? (at == 1 ? 3 : 224) : 512;
    model_.assumed.push_back("dimension " + std::to_string(at) +
                             " of the input is open: " + std::to_string(size));
    return size;
  }

  const Weight* weight(const onnx::NodeProto& node, int input) const {
    if (input >= node.input_size()) return nullptr;
    const auto found = weights_.find(node.input(input));
    return found == weights_.end() ? nullptr : &found->second;
  }

  std::optional<TensorId> value(const onnx::NodeProto& node, int input) const {
    if (input >= node.input_size()) return std::nullopt;
    const auto found = values_.find(node.input(input));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  // Adds a weight as a parameter of the block.
  TensorId parameter(const std::string& name, const Shape& shape) {
    used_.insert(name);
    std::string own = name;
    std::replace(own.begin(), own.end(), '/', '.');
    for (int n = 2; taken(own); ++n) own = name + "." + std::to_string(n);
    return builder_.parameter(own, shape);
  }

  bool taken(const std::string& name) const {
    return std::any_of(builder_.graph.tensors.begin(), builder_.graph.tensors.end(),
                       [&](const Tensor& tensor) { return tensor.name == name; });
  }

  std::string free_node(const onnx::NodeProto& node) const {
    std::string base = node.name().empty() ? node.op_type() : node.name();
    std::replace(base.begin(), base.end(), '/', '.');
    std::string name = base;
    for (int n = 2; taken(name); ++n) name = base + "." + std::to_string(n);
    return name;
  }

  void read_node(const onnx::NodeProto& node) {
    ++fields_;
    std::optional<TensorId> x;
    for (int i = 0; i < node.input_size() && !x; ++i) x = value(node, i);
    if (!x || node.output_size() < 1) return;  // the node computes shapes or constants only
    try {
      values_[node.output(0)] = made_by(node, *x);
    } catch (const Error& error) {
      refuse(at_, error.what());
    }
    last_ = node.output(0);
    for (const std::string& input : node.input())
      if (const auto left = readers_.find(input); left != readers_.end()) --left->second;
  }

  TensorId made_by(const onnx::NodeProto& node, TensorId x) {
    const std::string& op = node.op_type();
    if (op == "Conv") return convolved(node, x);
    if (op == "Gemm" || op == "MatMul") return multiplied(node, x);
    if (op == "BatchNormalization") return normed(node, x, batch_norm());
    if (op == "LayerNormalization") return normed(node, x, layer_norm());
    if (op == "MaxPool" || op == "AveragePool" || op.starts_with("Global")) return pooled(node, x);
    if (op == "Flatten" || op == "Reshape" || op == "Squeeze") return flattened(node, x);
    if (op == "Dropout") return builder_.node(free_node(node), dropout(), {x});
    if (op == "Identity" || op == "Softmax" || op == "LogSoftmax" || op == "Cast") return x;
    if (op == "Add" || op == "Sub" || op == "Sum" || op == "Mul" || op == "Div")
      return joined(node, x);
    for (const Near& near : kElementwise) {
      if (near.onnx != op) continue;
      if (!near.same) priced_as_[op] = std::string(near.op().name);
      return builder_.node(free_node(node), near.op(), {x});
    }
    unknown_.insert(op);
    return x;
  }

  TensorId convolved(const onnx::NodeProto& node, TensorId x) {
    const Weight* filters = weight(node, 1);
    if (filters == nullptr || filters->sizes.size() != 4)
      throw Error(Error::Kind::InvalidInput,
                  "expected a convolution of images with filters that the file holds");
    if (!all_equal(node, "strides") || !all_equal(node, "pads"))
      priced_as_["Conv with sides that differ"] = "one with the first side's stride and padding";
    Shape shape;
    for (const std::int64_t size : filters->sizes) shape.push_back(whole(size));
    std::vector<TensorId> inputs = {x, parameter(node.input(1), shape)};
    if (weight(node, 2) != nullptr) inputs.push_back(parameter(node.input(2), {shape[0]}));
    std::map<std::string, std::int64_t> attributes = {{"stride", first_integer(node, "strides", 1)},
                                                      {"padding", first_integer(node, "pads", 0)},
                                                      {"groups", first_integer(node, "group", 1)}};
    if (x == builder_.graph.input && model_.blocks.empty()) attributes["leaf"] = 1;
    return builder_.node(free_node(node), convolution(), std::move(inputs), std::move(attributes));
  }

  TensorId multiplied(const onnx::NodeProto& node, TensorId x) {
    const Weight* matrix = weight(node, 1);
    if (matrix == nullptr || matrix->sizes.size() != 2) {
      unknown_.insert(node.op_type() + " of two activations");
      return x;
    }
    const bool transposed = node.op_type() == "Gemm" && first_integer(node, "transB", 0) != 0;
    const Dim in = whole(matrix->sizes[transposed ? 1 : 0]),
              out = whole(matrix->sizes[transposed ? 0 : 1]);
    std::vector<TensorId> inputs = {x, parameter(node.input(1), {in, out})};
    const Weight* bias = weight(node, 2);
    if (bias != nullptr && bias->count() == out.size)
      inputs.push_back(parameter(node.input(2), {out}));
    return builder_.node(free_node(node), matmul(), std::move(inputs));
  }

  TensorId normed(const onnx::NodeProto& node, TensorId x, const Op& op) {
    const Weight *scale_by = weight(node, 1), *shift = weight(node, 2);
    if (scale_by == nullptr || shift == nullptr || scale_by->sizes.size() != 1 ||
        shift->sizes != scale_by->sizes) {
      unknown_.insert(node.op_type() + " without weights in the file");
      return x;
    }
    const Shape width = {whole(scale_by->sizes[0])};
    return builder_.node(free_node(node), op,
                         {x, parameter(node.input(1), width), parameter(node.input(2), width)});
  }

  TensorId pooled(const onnx::NodeProto& node, TensorId x) {
    const bool global = node.op_type().starts_with("Global");
    const bool average = node.op_type().find("Average") != std::string::npos;
    std::map<std::string, std::int64_t> attributes = {
        {"kernel", global ? 0 : first_integer(node, "kernel_shape", 2)},
        {"average", average ? 1 : 0}};
    if (!global) {
      attributes["stride"] = first_integer(node, "strides", 1);
      attributes["padding"] = first_integer(node, "pads", 0);
    }
    return builder_.node(free_node(node), pooling(), {x}, std::move(attributes));
  }

  TensorId flattened(const onnx::NodeProto& node, TensorId x) {
    if (builder_.graph[x].shape.size() == 4) return builder_.node(free_node(node), flatten(), {x});
    if (node.op_type() != "Squeeze" && builder_.graph[x].shape.size() != 2)
      unknown_.insert(node.op_type() + " of a sequence");
    return x;
  }

  // Joins two streams of one shape; adding or multiplying a constant of the file is a scale.
  TensorId joined(const onnx::NodeProto& node, TensorId x) {
    const auto a = value(node, 0), b = value(node, 1);
    const bool sum = node.op_type() != "Mul" && node.op_type() != "Div";
    if (!a || !b) {
      const Weight* own = weight(node, a ? 1 : 0);
      if (own != nullptr && own->trained && own->count() > 1)
        unknown_.insert(node.op_type() + " of a trained tensor");
      return builder_.node(free_node(node), scale(), {x});
    }
    const Shape &first = builder_.graph[*a].shape, &second = builder_.graph[*b].shape;
    if (first == second) return builder_.node(free_node(node), sum ? add() : multiply(), {*a, *b});
    // One of them is broadcast over the other, which costs about as much as a scale of the larger.
    priced_as_[node.op_type() + " of unequal shapes"] = "scale";
    const bool larger = local_elements(first, Binding{}) >= local_elements(second, Binding{});
    return builder_.node(free_node(node), scale(), {larger ? *a : *b});
  }

  // A block ends where only the newest tensor is still read.
  void cut() {
    if (builder_.graph.nodes.empty()) return;
    for (const auto& [name, id] : values_) {
      const auto left = readers_.find(name);
      if (name != last_ && left != readers_.end() && left->second > 0) return;
    }
    const TensorId out = values_[last_];
    if (out == builder_.graph.input) return;
    const Shape shape = builder_.graph[out].shape;
    model_.blocks.push_back(
        builder_.block("block" + std::to_string(model_.blocks.size()), 1, true, out));
    builder_ = GraphBuilder{};
    values_.clear();
    values_[last_] = builder_.graph.input = builder_.activation("input", shape);
  }

  ImportedModel finish() {
    if (model_.blocks.empty())
      refuse(place_, "expected a graph with an operator that is known, found " + listed(unknown_));
    const std::filesystem::path file(place_);
    model_.name = file.stem().string().empty() ? "onnx" : file.stem().string();
    model_.family = "onnx";
    model_.source = place_;
    end_with_loss();
    for (const auto& [op, near] : priced_as_)
      model_.assumed.push_back(fmt::format("{} is priced as {}", op, near));
    std::int64_t held = 0;
    for (const auto& [name, weight] : weights_)
      if (weight.trained && __builtin_add_overflow(held, weight.count(), &held))
        held = std::numeric_limits<std::int64_t>::max();
    if (const std::int64_t trained = parameters(model_); trained != held)
      model_.assumed.push_back("the file holds " + std::to_string(held) +
                               " floating-point numbers, of which " + std::to_string(trained) +
                               " are trained here: running statistics and constants are not");
    ImportedModel imported;
    imported.report.fields = fields_;
    imported.report.unknown.assign(unknown_.begin(), unknown_.end());
    imported.model = std::move(model_);
    return imported;
  }

  // Inference graphs end with scores, so a loss over them is added for training.
  void end_with_loss() {
    GraphBuilder end;
    const Graph& before = model_.blocks.back().graph;
    TensorId x = end.graph.input = end.activation("input", before[before.output].shape);
    if (end.graph[x].shape.size() == 4) x = end.node("flatten", flatten(), {x});
    model_.assumed.push_back("the graph ends with its output: the loss is cross entropy over it");
    model_.blocks.push_back(end.block("head", 1, false, end.loss(x)));
  }

  static std::string listed(const std::set<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
      if (!text.empty()) text += ", ";
      text += name;
    }
    return text.empty() ? "none" : text;
  }
};

}  // namespace

ImportedModel import_onnx(std::string_view bytes, const std::string& place) {
  onnx::ModelProto model;
  const bool fits = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !model.has_graph())
    refuse(place, "expected an ONNX model, found bytes that are none");
  return OnnxReader(model.graph(), place).read();
}

}  // namespace trainyard
