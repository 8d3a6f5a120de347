#include "core/io/documents/model_json.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/base/nearest.h"
#include "core/io/json/schema.h"
#include "core/model/formula.h"
#include "core/model/ops.h"
#include "core/model/refit.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 31;
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;
constexpr std::int64_t kMostLayers = 100'000;

// These are the spellings in the order of the enumerators. Only axes that a file states are listed:
// an expert's width and its tokens are written like those of any product, because the op already
// implies them.
const std::vector<std::string> kAxes = {"none",     "batch", "sequence", "sequence-region", "heads",
                                        "kv-heads", "ffn",   "vocab",    "experts"};
const std::vector<std::string> kKinds = {"parameter", "activation", "statistic", "mask", "index"};
const std::vector<std::string> kSplits = {"none", "column", "row", "inside", "vocab", "routed"};

template <class Enum>
const std::string& spelling(const std::vector<std::string>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

template <class Enum>
Enum parse_enum(const JsonCursor& cursor, const std::vector<std::string>& names) {
  const std::string name = cursor.one_of(names);
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

const std::string& axis_word(Axis axis) {
  return spelling(kAxes, axis == Axis::ExpertFfn        ? Axis::Ffn
                         : axis == Axis::ExpertSequence ? Axis::Sequence
                                                        : axis);
}

bool same_in_file(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Dim& x, const Dim& y) {
    return x.size == y.size && x.units == y.units && axis_word(x.axis) == axis_word(y.axis);
  });
}

// A dimension that is never divided is written as its size; any other as an object with its axis.
// It is a plan that divides the rows of images, and not a model.
Json dim_json(const Dim& dim) {
  const bool rows = dim.axis == Axis::Rows || dim.axis == Axis::HaloRows;
  if (rows || (dim.axis == Axis::None && dim.units == 0)) return Json(dim.size);
  Json object = Json::object().set("axis", axis_word(dim.axis));
  if (dim.size != 0) object.set("size", dim.size);
  if (dim.units != 0) object.set("units", dim.units);
  return object;
}

Json shape_json(const Shape& shape) {
  Json list = Json::list();
  for (const Dim& dim : shape) list.push(dim_json(dim));
  return list;
}

Json tensor_json(const Tensor& tensor) {
  Json object = Json::object();
  object.set("name", tensor.name)
      .set("kind", spelling(kKinds, tensor.kind))
      .set("shape", shape_json(tensor.shape));
  if (!tensor.tied_to.empty()) object.set("tied_to", tensor.tied_to);
  return object;
}

Json names_json(const Graph& graph, const std::vector<TensorId>& ids) {
  Json list = Json::list();
  for (TensorId id : ids) list.push(graph[id].name);
  return list;
}

Json formulas_json(const ElementFormulas& formulas) {
  Json gradients = Json::list();
  for (const Formula& gradient : formulas.gradients) gradients.push(gradient.text());
  Json object = Json::object();
  object.set("value", formulas.value.text()).set("gradients", std::move(gradients));
  if (formulas.intended) object.set("intended", true);
  return object;
}

Json node_json(const Graph& graph, const Node& node) {
  Json object = Json::object();
  object.set("name", node.name).set("op", node.op->name);
  object.set("inputs", names_json(graph, node.inputs))
      .set("outputs", names_json(graph, node.outputs));
  if (node.split != TensorSplit::None) object.set("split", spelling(kSplits, node.split));
  if (node.formulas != nullptr) object.set("formula", formulas_json(*node.formulas));
  if (node.attributes.empty()) return object;
  Json attributes = Json::object();
  for (const auto& [name, value] : node.attributes) attributes.set(name, value);
  return object.set("attributes", std::move(attributes));
}

Json block_json(const Block& block) {
  const Graph& graph = block.graph;
  Json tensors = Json::list(), nodes = Json::list();
  for (const Tensor& tensor : graph.tensors) tensors.push(tensor_json(tensor));
  for (const Node& node : graph.nodes) nodes.push(node_json(graph, node));
  Json object = Json::object();
  object.set("name", block.name).set("count", block.count).set("layer", block.layer);
  object.set("input", graph[graph.input].name).set("output", graph[graph.output].name);
  if (graph.side_input.valid()) object.set("side_input", graph[graph.side_input].name);
  return object.set("tensors", std::move(tensors)).set("nodes", std::move(nodes));
}

bool may_be_open(Axis axis) {
  return axis == Axis::Batch || axis == Axis::Sequence || axis == Axis::SequenceRegion;
}

Dim read_dim(const JsonCursor& cursor) {
  if (cursor.value().integer()) return {cursor.integer(1, kMostSize), Axis::None, 0};
  if (!cursor.value().as_object())
    cursor.expected("a size, or an object with axis, size and units");
  cursor.expect_keys({"axis", "size", "units"});
  Dim dim;
  dim.axis = parse_enum<Axis>(cursor.at("axis"), kAxes);
  if (const auto size = cursor.find("size")) {
    dim.size = size->integer(1, kMostSize);
  } else if (!may_be_open(dim.axis)) {
    cursor.refuse("expected the key \"size\": only batch and sequence may be open");
  }
  if (const auto units = cursor.find("units")) {
    dim.units = units->integer(1, kMostSize);
    if (dim.size % dim.units != 0 || dim.size == 0)
      units->refuse("expected units that divide the size " + std::to_string(dim.size) + ", found " +
                    std::to_string(dim.units));
  }
  return dim;
}

Tensor read_graph_tensor(const JsonCursor& cursor) {
  cursor.expect_keys({"name", "kind", "shape", "tied_to"});
  Tensor tensor;
  tensor.name = cursor.at("name").text();
  tensor.kind = parse_enum<TensorKind>(cursor.at("kind"), kKinds);
  const JsonCursor shape = cursor.at("shape");
  for (const JsonCursor& dim : shape.items()) tensor.shape.push_back(read_dim(dim));
  if (tensor.shape.size() > 8)
    shape.refuse("expected at most 8 dimensions, found " + std::to_string(tensor.shape.size()));
  if (std::any_of(tensor.shape.begin(), tensor.shape.end(),
                  [](const Dim& dim) { return dim.axis == Axis::Experts; }))
    for (Dim& dim : tensor.shape)
      if (dim.axis == Axis::Ffn) dim.axis = Axis::ExpertFfn;
  if (local_elements(tensor.shape, Binding{}) > kMostElements)
    shape.refuse("expected at most 2^56 elements, found more");
  if (const auto tied = cursor.find("tied_to")) {
    tensor.tied_to = tied->text();
    if (tensor.kind != TensorKind::Parameter)
      tied->refuse("expected a parameter: only those can be tied");
  }
  return tensor;
}

// GraphReader reads one block's graph: names become ids, and each node's outputs are checked
// against what its op infers.
class GraphReader {
 public:
  Graph read(const JsonCursor& block) {
    for (const JsonCursor& tensor : block.at("tensors").items()) {
      graph_.tensors.push_back(read_graph_tensor(tensor));
      const TensorId id{static_cast<std::uint32_t>(graph_.tensors.size() - 1)};
      if (!ids_.emplace(graph_.tensors.back().name, id).second)
        tensor.at("name").refuse("expected names that differ, found \"" +
                                 graph_.tensors.back().name + "\" twice");
    }
    const std::vector<JsonCursor> nodes = block.at("nodes").items();
    declare_outputs(nodes);
    for (const JsonCursor& node : nodes) read_node(node);
    graph_.input = tensor(block.at("input"));
    graph_.output = tensor(block.at("output"));
    if (const auto side = block.find("side_input")) graph_.side_input = tensor(*side);
    return std::move(graph_);
  }

 private:
  Graph graph_;
  std::map<std::string, TensorId> ids_;
  std::vector<bool> ready_;  // by tensor: not an output of a later node

  TensorId tensor(const JsonCursor& cursor) const {
    const std::string name = cursor.text();
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, id] : ids_)
      if (names.size() < 1000) names.push_back(known);
    cursor.refuse("expected the name of a tensor of the block, found \"" + name.substr(0, 60) +
                  "\"" + did_you_mean(name, names));
  }

  void declare_outputs(const std::vector<JsonCursor>& nodes) {
    ready_.assign(graph_.tensors.size(), true);
    for (const JsonCursor& node : nodes)
      for (const JsonCursor& output : node.at("outputs").items()) {
        const TensorId id = tensor(output);
        if (!ready_[id.value])
          output.refuse("expected one node that makes \"" + graph_[id].name + "\", found another");
        if (graph_[id].kind == TensorKind::Parameter)
          output.refuse("expected an activation, found a parameter");
        ready_[id.value] = false;
      }
  }

  void read_node(const JsonCursor& cursor) {
    cursor.expect_keys({"name", "op", "inputs", "outputs", "attributes", "split", "formula"});
    Node node;
    node.name = cursor.at("name").text();
    node.op = find_op(cursor.at("op"));
    for (const JsonCursor& input : cursor.at("inputs").items()) {
      node.inputs.push_back(tensor(input));
      if (!ready_[node.inputs.back().value])
        input.refuse("expected a tensor that an earlier node makes");
    }
    if (const auto attributes = cursor.find("attributes"))
      for (const std::string& key : attributes->keys())
        node.attributes[key] = attributes->at(key).integer(-kMostSize, kMostSize);
    if (const auto split = cursor.find("split"))
      node.split = parse_enum<TensorSplit>(*split, kSplits);
    if (const auto formula = cursor.find("formula")) {
      if (node.op != &formula_op())
        formula->refuse("expected formulas of the op formula only, found those of " +
                        std::string(node.op->name));
      node.formulas = read_formulas(*formula, node.inputs.size());
    }
    read_outputs(cursor, node);
    graph_.nodes.push_back(std::move(node));
  }

  static const Op* find_op(const JsonCursor& cursor) {
    const std::string name = cursor.text();
    try {
      return &op(name.substr(0, 60));
    } catch (const Error& error) {
      cursor.refuse(error.what());
    }
  }

  static std::shared_ptr<const ElementFormulas> read_formulas(const JsonCursor& cursor,
                                                              std::size_t inputs) {
    cursor.expect_keys({"value", "gradients", "intended"});
    const auto read = [&](const JsonCursor& at, auto formula) {
      const std::string text = at.text();
      try {
        return formula(text, inputs);
      } catch (const Error& error) {
        at.refuse(error.what());
      }
    };
    auto made = std::make_shared<ElementFormulas>();
    made->value = read(cursor.at("value"), value_formula);
    for (const JsonCursor& gradient : cursor.at("gradients").items())
      made->gradients.push_back(read(gradient, gradient_formula));
    if (const auto intended = cursor.find("intended")) made->intended = intended->boolean();
    return made;
  }

  void read_outputs(const JsonCursor& cursor, Node& node) {
    std::vector<Tensor> made;
    try {
      made = node.op->infer(graph_, node);
    } catch (const Error& error) {
      cursor.refuse(error.what());
    }
    const std::vector<JsonCursor> outputs = cursor.at("outputs").items();
    if (outputs.size() != made.size())
      cursor.at("outputs").refuse("expected " + std::to_string(made.size()) + " outputs, found " +
                                  std::to_string(outputs.size()));
    for (std::size_t i = 0; i < made.size(); ++i) {
      const TensorId id = tensor(outputs[i]);
      if (!same_in_file(graph_[id].shape, made[i].shape) || graph_[id].kind != made[i].kind)
        outputs[i].refuse("expected the shape that " + std::string(node.op->name) + " makes, " +
                          to_text(made[i].shape) + ", found " + to_text(graph_[id].shape) +
                          " or another axis or kind");
      graph_.tensors[id.value].shape = made[i].shape;
      node.outputs.push_back(id);
      ready_[id.value] = true;
    }
  }
};

Block read_block(const JsonCursor& cursor) {
  cursor.expect_keys(
      {"name", "count", "layer", "input", "output", "side_input", "tensors", "nodes"});
  Block block;
  block.name = cursor.at("name").text();
  block.count = static_cast<int>(cursor.at("count").integer(1, kMostLayers));
  block.layer = cursor.at("layer").boolean();
  block.graph = GraphReader().read(cursor);
  return block;
}

void check_ties(const Model& model, const JsonCursor& blocks) {
  const std::vector<JsonCursor> cursors = blocks.items();
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const std::vector<Tensor>& tensors = model.blocks[b].graph.tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].tied_to.empty() || shared_parameter(model, tensors[t])) continue;
      cursors[b].at("tensors").items()[t].at("tied_to").refuse(
          "expected \"BLOCK/TENSOR\", a parameter of as many elements that is not tied itself, "
          "found \"" +
          tensors[t].tied_to.substr(0, 60) + "\"");
    }
  }
}

}  // namespace

Json model_to_json(const Model& model) {
  Json blocks = Json::list(), assumed = Json::list();
  for (const Block& block : model.blocks) blocks.push(block_json(block));
  for (const std::string& sentence : model.assumed) assumed.push(sentence);
  Json object = Json::object();
  object.set("schema", schema_name(schema("trainyard/model")))
      .set("name", model.name)
      .set("family", model.family);
  object.set("sequence", model.sequence).set("tokens", model.tokens).set("source", model.source);
  return object.set("assumed", std::move(assumed)).set("blocks", std::move(blocks));
}

std::string write_model(const Model& model) { return write_json(model_to_json(model)); }

Model model_from_json(const Json& document, const std::string& source) {
  const Json current = upgraded(document, schema("trainyard/model"), source);
  const JsonCursor root(current, source);
  root.expect_keys(
      {"schema", "name", "family", "sequence", "tokens", "source", "assumed", "blocks"});
  Model model;
  model.name = root.at("name").text();
  model.family = root.at("family").text();
  model.sequence = root.at("sequence").integer(1, kMostSize);
  model.tokens = root.at("tokens").boolean();
  if (const auto from = root.find("source")) model.source = from->text();
  if (const auto assumed = root.find("assumed"))
    for (const JsonCursor& sentence : assumed->items()) model.assumed.push_back(sentence.text());
  const JsonCursor blocks = root.at("blocks");
  for (const JsonCursor& block : blocks.items()) {
    model.blocks.push_back(read_block(block));
    for (std::size_t i = 0; i + 1 < model.blocks.size(); ++i)
      if (model.blocks[i].name == model.blocks.back().name)
        block.at("name").refuse("expected names that differ, found \"" +
                                model.blocks[i].name.substr(0, 60) + "\" twice");
  }
  if (layer_count(model) < 1)
    blocks.refuse("expected at least one block that is a layer, found none");
  check_ties(model, blocks);
  return model;
}

Model read_model(std::string_view text, const std::string& source) {
  return model_from_json(parse_json(text, source), source);
}

}  // namespace trainyard
