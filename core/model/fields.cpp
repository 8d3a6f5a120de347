#include "core/model/fields.h"

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/model/formula.h"
#include "core/model/gradient_check.h"
#include "core/model/images.h"
#include "core/model/ops.h"
#include "core/model/refit.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 28;
constexpr std::int64_t kMostCount = 100'000;

const Block* block_at(const Model& model, int at) {
  return at >= 0 && at < static_cast<int>(model.blocks.size())
             ? &model.blocks[static_cast<std::size_t>(at)]
             : nullptr;
}

const Node* node_at(const Model& model, ModelPart part) {
  const Block* block = block_at(model, part.block);
  return block != nullptr && part.node >= 0 &&
                 part.node < static_cast<int>(block->graph.nodes.size())
             ? &block->graph.nodes[static_cast<std::size_t>(part.node)]
             : nullptr;
}

std::string place_of(const Model& model, ModelPart part) {
  const Block* block = block_at(model, part.block);
  const Node* node = node_at(model, part);
  if (block == nullptr) return "model";
  return block->name + (node == nullptr ? "" : "/" + node->name);
}

// Visits the dimensions along one axis of a block's parameters.
template <class G, class Visit>
void each_dim(G& graph, Axis axis, Visit visit) {
  std::set<std::uint32_t> seen;  // a tensor that two nodes read is visited once
  for (const Node& node : graph.nodes)
    for (const TensorId id : node.inputs) {
      auto& tensor = graph.tensors[id.value];
      if (tensor.kind != TensorKind::Parameter || !seen.insert(id.value).second) continue;
      for (auto& dim : tensor.shape)
        if (dim.axis == axis) visit(dim);
    }
}

// Returns the value that all dimensions along an axis have in common; 0 where they differ or there
// is none.
std::int64_t common(const Graph& graph, Axis axis,
                    const std::function<std::int64_t(const Dim&)>& of) {
  std::int64_t value = 0;
  bool mixed = false;
  each_dim(graph, axis, [&](const Dim& dim) {
    const std::int64_t now = of(dim);
    mixed = mixed || (value != 0 && now != value);
    value = now;
  });
  return mixed ? 0 : value;
}

std::int64_t size_of(const Dim& dim) { return dim.size; }
std::int64_t units_of(const Dim& dim) { return std::max<std::int64_t>(1, dim.units); }
std::int64_t width_of(const Dim& dim) { return dim.size / units_of(dim); }

const Node* first_of(const Graph& graph, const Op& op) {
  for (const Node& node : graph.nodes)
    if (node.op == &op) return &node;
  return nullptr;
}

void set_attribute(Graph& graph, std::string_view name, std::int64_t value,
                   std::initializer_list<const Op*> ops) {
  for (Node& node : graph.nodes)
    if (std::find(ops.begin(), ops.end(), node.op) != ops.end() &&
        node.attributes.count(std::string(name)) != 0)
      node.attributes[std::string(name)] = value;
}

void set_heads(Graph& graph, std::int64_t heads) {
  const Node* first = first_of(graph, attention());
  const std::int64_t before = attribute(*first, "heads"),
                     kv_before = attribute(*first, "kv_heads", before);
  each_dim(graph, Axis::Heads, [&](Dim& dim) {
    dim.size = dim.size / units_of(dim) * heads;
    dim.units = heads;
  });
  set_attribute(graph, "heads", heads, {&attention(), &split_qkv()});
  // Where every head has its own keys, that stays so.
  if (kv_before != before) return;
  each_dim(graph, Axis::KvHeads, [&](Dim& dim) {
    dim.size = dim.size / units_of(dim) * heads;
    dim.units = heads;
  });
  set_attribute(graph, "kv_heads", heads, {&attention()});
}

void set_kv_heads(Graph& graph, std::int64_t heads) {
  each_dim(graph, Axis::KvHeads, [&](Dim& dim) {
    dim.size = dim.size / units_of(dim) * heads;
    dim.units = heads;
  });
  set_attribute(graph, "kv_heads", heads, {&attention()});
}

void set_head_width(Graph& graph, std::int64_t width) {
  const std::int64_t before = width_of(*[&]() -> const Dim* {
    const Node* node = first_of(graph, attention());
    return &graph[node->inputs[0]].shape.back();
  }());
  for (const Axis axis : {Axis::Heads, Axis::KvHeads})
    each_dim(graph, axis, [&](Dim& dim) {
      // A fused projection holds a query, key and value for each head; a table of biases per head
      // holds none of that width.
      if (width_of(dim) % before == 0) dim.size = units_of(dim) * (width_of(dim) / before * width);
    });
}

void set_width(Graph& graph, Axis axis, std::int64_t from, std::int64_t to) {
  each_dim(graph, axis, [&](Dim& dim) {
    if (dim.size == from)
      dim.size = to;
    else if (dim.size % from == 0)
      dim.size = dim.size / from * to;  // shared experts: several of them form one product
  });
}

void set_experts(Graph& graph, std::int64_t count) {
  each_dim(graph, Axis::Experts, [&](Dim& dim) { dim.size = count; });
  for (const Node& node : graph.nodes)
    if (node.op == &router()) {
      graph.tensors[node.inputs[1].value].shape[1].size = count;
      if (node.inputs.size() > 2) graph.tensors[node.inputs[2].value].shape[0].size = count;
    }
}

// Returns the width of the residual stream: that of the embedding tables and of the products that
// write to the stream. A vision tower and its decoder have two streams and no one width: 0.
std::int64_t hidden_of(const Model& model) {
  std::int64_t found = 0;
  for (const Block& block : model.blocks) {
    if (!block.layer || !block.graph.input.valid()) continue;
    const Shape& shape = block.graph[block.graph.input].shape;
    if (shape.size() != 3) continue;
    if (found > 0 && shape.back().size != found) return 0;
    found = shape.back().size;
  }
  return found;
}

std::int64_t vocabulary_of(const Model& model) {
  std::int64_t size = 0;
  for (const Block& block : model.blocks)
    each_dim(block.graph, Axis::Vocab, [&](const Dim& dim) { size = dim.size; });
  return size;
}

Model with_hidden(Model model, std::int64_t to) {
  const std::int64_t from = hidden_of(model);
  for (Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      for (const TensorId id : node.inputs) {
        Tensor& tensor = block.graph.tensors[id.value];
        if (tensor.kind != TensorKind::Parameter) continue;
        // The rows of a table are positions or tokens, not features.
        const std::size_t features = node.op == &embedding() ? 1 : 0;
        for (std::size_t d = features; d < tensor.shape.size(); ++d)
          if (Dim& dim = tensor.shape[d]; dim.axis == Axis::None && dim.size == from) dim.size = to;
      }
  return refitted(std::move(model));
}

// A NumberField is one number that can be set: how to read it (0: the part has none) and how to
// write it.
struct NumberField {
  const char *key, *title, *unit, *doc;
  std::int64_t low, high;
  std::int64_t (*read)(const Graph&);
  void (*write)(Graph&, std::int64_t);
};

std::int64_t read_attention(const Graph& graph, const char* name) {
  const Node* node = first_of(graph, attention());
  return node == nullptr ? 0 : attribute(*node, name);
}

std::int64_t read_head_width(const Graph& graph) {
  const Node* node = first_of(graph, attention());
  if (node == nullptr) return 0;
  const std::int64_t q = width_of(graph[node->inputs[0]].shape.back()),
                     k = width_of(graph[node->inputs[1]].shape.back()),
                     v = width_of(graph[node->inputs[2]].shape.back());
  for (const Node& each : graph.nodes)
    if (each.op == &concat_heads()) return 0;  // latent attention has heads of several widths
  return q == k && k == v ? q : 0;
}

const NumberField kBlockNumbers[] = {
    {"heads", "Attention heads", "heads", "queries attend in so many parts", 1, 65536,
     [](const Graph& g) { return read_attention(g, "heads"); }, set_heads},
    {"kv_heads", "Key/value heads", "heads", "keys and values; they divide the heads", 1, 65536,
     [](const Graph& g) {
       return common(g, Axis::KvHeads, units_of) > 0 ? read_attention(g, "kv_heads") : 0;
     },
     set_kv_heads},
    {"head_width", "Head width", "", "elements of one head", 1, kMostSize, read_head_width,
     set_head_width},
    {"ffn", "Feed-forward width", "", "inside the feed-forward part", 1, kMostSize,
     [](const Graph& g) { return common(g, Axis::Ffn, size_of); },
     [](Graph& g, std::int64_t to) { set_width(g, Axis::Ffn, common(g, Axis::Ffn, size_of), to); }},
    {"experts", "Experts", "experts", "in each layer", 1, 65536,
     [](const Graph& g) { return common(g, Axis::Experts, size_of); }, set_experts},
    {"top_k", "Experts of a token", "experts", "that each token meets", 1, 65536,
     [](const Graph& g) {
       const Node* node = first_of(g, router());
       return node == nullptr ? 0 : attribute(*node, "top_k", 1);
     },
     [](Graph& g, std::int64_t to) {
       set_attribute(g, "top_k", to, {&router(), &routed_matmul()});
     }},
    {"expert_width", "Expert width", "", "inside each expert", 1, kMostSize,
     [](const Graph& g) { return common(g, Axis::ExpertFfn, size_of); },
     [](Graph& g, std::int64_t to) {
       set_width(g, Axis::ExpertFfn, common(g, Axis::ExpertFfn, size_of), to);
     }},
};

// An AttributeField is an attribute of a node that can be set, with its range.
struct AttributeField {
  const Op& (*op)();
  const char *key, *title, *unit;
  std::int64_t low, high, usual;
  bool flag;
};
const AttributeField kAttributes[] = {
    {convolution, "stride", "Stride", "pixels", 1, 1024, 1, false},
    {convolution, "padding", "Padding", "pixels", 0, 1024, 0, false},
    {convolution, "groups", "Groups", "groups", 1, kMostSize, 1, false},
    {pooling, "kernel", "Window (0 = whole image)", "pixels", 0, 4096, 0, false},
    {pooling, "stride", "Stride", "pixels", 1, 1024, 2, false},
    {pooling, "padding", "Padding", "pixels", 0, 1024, 0, false},
    {pooling, "average", "Average", "", 0, 1, 0, true},
    {attention, "causal", "Causal", "", 0, 1, 0, true},
    {attention, "window", "Window (0 = whole sequence)", "tokens", 0, kMostSize, 0, false},
    {attention, "dropout", "Dropout", "", 0, 1, 0, true},
};

ModelField number(std::string key, std::string title, std::int64_t value, std::string unit,
                  std::int64_t low, std::int64_t high, std::string doc) {
  return {std::move(key),
          std::move(title),
          std::to_string(value),
          std::move(unit),
          FieldKind::Number,
          low,
          high,
          std::move(doc)};
}
ModelField fact(std::string key, std::string title, std::string value, std::string doc = {}) {
  return {std::move(key), std::move(title), std::move(value), "", FieldKind::Fact, 0, 0,
          std::move(doc)};
}
ModelField text(std::string key, std::string title, std::string value, std::string doc) {
  return {std::move(key), std::move(title), std::move(value), "", FieldKind::Text, 0, 0,
          std::move(doc)};
}
ModelField flag(std::string key, std::string title, bool value, std::string doc) {
  return {std::move(key), std::move(title), value ? "yes" : "no", "", FieldKind::Flag, 0, 0,
          std::move(doc)};
}

std::vector<ModelField> fields_of_model(const Model& model) {
  std::vector<ModelField> list = {
      text("name", "Name", model.name, "what lists call it"),
      number("sequence", "Longest sequence", model.sequence, "tokens", 1, kMostSize,
             "the workload's default"),
      flag("tokens", "Counted in tokens", model.tokens, "else in samples")};
  if (const std::int64_t hidden = hidden_of(model); hidden > 0)
    list.push_back(number("hidden", "Hidden size", hidden, "", 1, kMostSize,
                          "width of what flows between layers, everywhere"));
  if (const std::int64_t vocabulary = vocabulary_of(model); vocabulary > 0)
    list.push_back(number("vocab", "Vocabulary", vocabulary, "tokens", 1, kMostSize,
                          "rows of the token table"));
  if (const std::optional<ModelImages> images = images_of(model)) {
    list.push_back(number("images", "Images of a sample", images->images, "images", 1, 4096,
                          "whose tokens take the first places of its sequence"));
    list.push_back(
        number("image", "Image size", images->side, "pixels", images->unit, 65536,
               "height and width of an image; a multiple of " + std::to_string(images->unit)));
  }
  list.push_back(fact("family", "Family", model.family));
  list.push_back(
      fact("layers", "Layers", std::to_string(layer_count(model)), "what a pipeline divides"));
  list.push_back(fact("parameters", "Parameters", std::to_string(parameters(model)),
                      "exact; tied tables once"));
  list.push_back(fact("source", "Source", model.source));
  for (const std::string& sentence : model.assumed)
    list.push_back(fact("assumed", "Assumed", sentence));
  return list;
}

std::string flow_text(const Graph& graph) {
  return to_text(graph[graph.input].shape) + " → " + to_text(graph[graph.output].shape);
}

std::vector<ModelField> fields_of_block(const Block& block) {
  std::vector<ModelField> list = {
      text("name", "Name", block.name, "unlike that of any other block"),
      number("count", "Repeated", block.count, "times", 1, kMostCount, "identical layers in a row"),
      flag("layer", "Is a layer", block.layer,
           "a pipeline divides layers; others go with the first and last stage")};
  for (const NumberField& field : kBlockNumbers)
    if (const std::int64_t value = field.read(block.graph); value > 0)
      list.push_back(
          number(field.key, field.title, value, field.unit, field.low, field.high, field.doc));
  list.push_back(fact("shape", "Shape", flow_text(block.graph)));
  list.push_back(fact("parameters", "Parameters of one", std::to_string(parameters(block))));
  return list;
}

// Returns the dimension of a node's weight that is its output width, where the user may set it.
Dim* output_dim(Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[1].value >= graph.tensors.size()) return nullptr;
  Tensor& weight = graph.tensors[node.inputs[1].value];
  if (weight.kind != TensorKind::Parameter) return nullptr;
  const std::size_t at = node.op == &convolution() ? 0 : 1;
  if (node.op != &matmul() && node.op != &convolution() && node.op != &embedding()) return nullptr;
  return at < weight.shape.size() && weight.shape[at].units == 0 ? &weight.shape[at] : nullptr;
}

bool may_have_bias(const Node& node) { return node.op == &matmul() || node.op == &convolution(); }

constexpr std::string_view kGradient = "gradient ";  // before the number of the input

// The author's formulas, and how the gradients compare with the derivative.
std::vector<ModelField> fields_of_formulas(const Graph& graph, const Node& node) {
  const ElementFormulas& formulas = *node.formulas;
  std::string names;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    names += (i == 0 ? "x" : ", x" + std::to_string(i)) + " = " + graph[node.inputs[i]].name;
  std::vector<ModelField> list = {
      text("value", "Value", formulas.value.text(), "of each element; " + names)};
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    list.push_back(text(std::string(kGradient) + std::to_string(i),
                        "Gradient of " + graph[node.inputs[i]].name, formulas.gradients[i].text(),
                        names + ", y = what it makes, dy = the gradient of y"));
  list.push_back(flag("intended", "Differs on purpose", formulas.intended,
                      "the gradients are not the derivative of the value, and need not be"));
  for (const GradientVerdict& verdict : check_gradients(graph, node, ""))
    list.push_back(fact("check", "Check of " + verdict.input, to_text(verdict),
                        "beside central differences in double precision"));
  return list;
}

void set_formula(Node& node, std::string_view key, std::string_view value,
                 const std::string& place) {
  ElementFormulas formulas = *node.formulas;
  const std::size_t inputs = node.inputs.size();
  try {
    if (key == "value")
      formulas.value = value_formula(value, inputs);
    else
      formulas.gradients[static_cast<std::size_t>(parse_integer(key.substr(kGradient.size())))] =
          gradient_formula(value, inputs);
  } catch (const Error& error) {
    refuse(place, error.what());
  }
  node.formulas = std::make_shared<const ElementFormulas>(std::move(formulas));
}

std::vector<ModelField> fields_of_node(const Graph& graph, const Node& node) {
  std::vector<ModelField> list = {};
  if (node.formulas != nullptr) list = fields_of_formulas(graph, node);
  Graph copy = graph;
  if (const Dim* out = output_dim(copy, node))
    list.push_back(number("outputs", node.op == &convolution() ? "Channels out" : "Outputs",
                          out->size, "", 1, kMostSize, "width of what it makes"));
  if (node.op == &embedding())
    list.push_back(number("rows", "Rows", graph[node.inputs[1]].shape[0].size, "rows", 1, kMostSize,
                          "of the table"));
  if (node.op == &convolution())
    list.push_back(number("kernel", "Kernel", graph[node.inputs[1]].shape[2].size, "pixels", 1,
                          4096, "height and width of a filter"));
  if (may_have_bias(node))
    list.push_back(flag("bias", "Bias", node.inputs.size() > 2, "one number added to each output"));
  for (const AttributeField& field : kAttributes) {
    if (&field.op() != node.op) continue;
    const std::int64_t value = attribute(node, field.key, field.usual);
    if (field.flag)
      list.push_back(flag(field.key, field.title, value != 0, std::string(node.op->summary)));
    else
      list.push_back(number(field.key, field.title, value, field.unit, field.low, field.high,
                            std::string(node.op->summary)));
  }
  list.push_back(fact("name", "Name", node.name));
  list.push_back(fact("op", "Op", std::string(node.op->name), std::string(node.op->summary)));
  for (const TensorId id : node.inputs)
    list.push_back(fact("input", graph[id].kind == TensorKind::Parameter ? "Weight" : "Reads",
                        graph[id].name + " " + to_text(graph[id].shape)));
  for (const TensorId id : node.outputs)
    list.push_back(fact("output", "Makes", to_text(graph[id].shape)));
  return list;
}

std::int64_t read_number(const ModelField& field, std::string_view value,
                         const std::string& place) {
  std::int64_t found = 0;
  try {
    found = parse_integer(value);
  } catch (const Error&) {
    refuse(place, "expected a whole number from " + std::to_string(field.low) + " to " +
                      std::to_string(field.high) + ", found \"" + std::string(value.substr(0, 60)) +
                      "\"");
  }
  if (found < field.low || found > field.high)
    refuse(place, "expected a whole number from " + std::to_string(field.low) + " to " +
                      std::to_string(field.high) + ", found " + std::to_string(found));
  return found;
}

bool read_flag(std::string_view value, const std::string& place) {
  if (value == "yes" || value == "no") return value == "yes";
  refuse(place, "expected yes or no, found \"" + std::string(value.substr(0, 60)) + "\"");
}

Model with_field_of_model(Model model, const ModelField& field, std::string_view value,
                          const std::string& place) {
  if (field.key == "name") {
    if (value.empty() || value.size() > 200)
      refuse(place,
             "expected a name of 1 to 200 characters, found " + std::to_string(value.size()));
    model.name = value;
  } else if (field.key == "tokens") {
    model.tokens = read_flag(value, place);
  } else if (field.key == "sequence") {
    model.sequence = read_number(field, value, place);
  } else if (field.key == "hidden") {
    return with_hidden(std::move(model), read_number(field, value, place));
  } else if (field.key == "images") {
    return with_images(std::move(model), read_number(field, value, place), 0);
  } else if (field.key == "image") {
    return with_images(std::move(model), 0, read_number(field, value, place));
  } else {
    const std::int64_t rows = read_number(field, value, place);
    for (Block& block : model.blocks)
      each_dim(block.graph, Axis::Vocab, [&](Dim& dim) { dim.size = rows; });
    return refitted(std::move(model));
  }
  return model;
}

// A block whose input and output have different widths cannot follow itself.
void expect_repeatable(const Block& block, const std::string& place) {
  const Shape &in = block.graph[block.graph.input].shape,
              &out = block.graph[block.graph.output].shape;
  bool same = in.size() == out.size();
  for (std::size_t i = 0; same && i < in.size(); ++i) same = in[i].size == out[i].size;
  if (!same)
    refuse(place, "expected a block that makes what it reads, to be repeated, found " +
                      flow_text(block.graph));
}

Model with_field_of_block(Model model, int at, const ModelField& field, std::string_view value,
                          const std::string& place) {
  if (field.key == "name") return renamed_block(model, at, std::string(value));
  Block& block = model.blocks[static_cast<std::size_t>(at)];
  if (field.key == "layer") {
    block.layer = read_flag(value, place);
    if (layer_count(model) < 1)
      refuse(place, "expected at least one block that is a layer, found none");
    return model;
  }
  const std::int64_t wanted_value = read_number(field, value, place);
  if (field.key == "count") {
    if (wanted_value > 1) expect_repeatable(block, place);
    block.count = static_cast<int>(wanted_value);
  }
  for (const NumberField& known : kBlockNumbers)
    if (field.key == known.key) known.write(block.graph, wanted_value);
  return refitted(std::move(model));
}

void set_bias(Graph& graph, std::size_t at, bool on) {
  Node& node = graph.nodes[at];
  if (!on && node.inputs.size() > 2) node.inputs.pop_back();
  if (!on || node.inputs.size() > 2) return;
  const Shape& weight = graph[node.inputs[1]].shape;
  const Dim out = node.op == &convolution() ? weight.front() : weight.back();
  const std::string name = node.name + ".bias";
  const TensorId id = graph.add(Tensor{name, {out}, TensorKind::Parameter, {}});
  graph.nodes[at].inputs.push_back(id);
}

Model with_field_of_node(Model model, ModelPart part, const ModelField& field,
                         std::string_view value, const std::string& place) {
  Graph& graph = model.blocks[static_cast<std::size_t>(part.block)].graph;
  const auto at = static_cast<std::size_t>(part.node);
  Node& node = graph.nodes[at];
  std::vector<PinnedTensor> pinned;
  if (field.kind == FieldKind::Text) {
    set_formula(node, field.key, value, place);
  } else if (field.kind == FieldKind::Flag) {
    const bool on = read_flag(value, place);
    if (field.key == "intended") {
      ElementFormulas formulas = *node.formulas;
      formulas.intended = on;
      node.formulas = std::make_shared<const ElementFormulas>(std::move(formulas));
    } else if (field.key == "bias")
      set_bias(graph, at, on);
    else
      node.attributes[field.key] = on ? 1 : 0;
  } else {
    const std::int64_t number_wanted = read_number(field, value, place);
    if (field.key == "outputs") {
      output_dim(graph, node)->size = number_wanted;
      pinned.push_back({part.block, node.inputs[1]});
    } else if (field.key == "rows") {
      graph.tensors[node.inputs[1].value].shape[0].size = number_wanted;
    } else if (field.key == "kernel") {
      Shape& weight = graph.tensors[node.inputs[1].value].shape;
      weight[2].size = weight[3].size = number_wanted;
    } else {
      node.attributes[field.key] = number_wanted;
    }
  }
  // This renumbers the tensors, so pins may not refer to them afterwards.
  if (field.key == "bias") graph = without_unused_tensors(graph);
  return refitted(std::move(model), pinned);
}

}  // namespace

std::vector<ModelField> model_fields(const Model& model, ModelPart part) {
  if (part.block < 0) return fields_of_model(model);
  const Block* block = block_at(model, part.block);
  if (block == nullptr) return {};
  if (part.node < 0) return fields_of_block(*block);
  const Node* node = node_at(model, part);
  return node == nullptr ? std::vector<ModelField>{} : fields_of_node(block->graph, *node);
}

Model with_model_field(const Model& model, ModelPart part, std::string_view key,
                       std::string_view value) {
  const std::string place = place_of(model, part);
  std::vector<std::string> names;
  for (const ModelField& field : model_fields(model, part)) {
    if (field.kind == FieldKind::Fact) continue;
    if (field.key != key) {
      names.push_back(field.key);
      continue;
    }
    if (part.block < 0) return with_field_of_model(model, field, value, place);
    if (part.node < 0) return with_field_of_block(model, part.block, field, value, place);
    return with_field_of_node(model, part, field, value, place);
  }
  refuse(place, "expected a field that can be set, found \"" + std::string(key.substr(0, 60)) +
                    "\"" + did_you_mean(key, names));
}

}  // namespace trainyard
