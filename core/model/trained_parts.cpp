#include "core/model/trained_parts.h"
#include "core/model/divided_rows.h"
#include "core/model/sparse_pattern.h"
#include "core/model/sparse_weights.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/nearest.h"
#include "core/base/saturating.h"
#include "core/model/ops.h"
#include "core/model/refit.h"
#include "core/model/trained_tables.h"

namespace trainyard {
namespace {

// The attribute says who has frozen a node.
constexpr const char *kFrozenNode = "frozen", *kAdapter = "lora";
constexpr std::int64_t kByPlan = 2;

bool is_parameter(const Graph& graph, TensorId id) {
  return graph[id].kind == TensorKind::Parameter;
}

bool reads_parameters(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](TensorId in) { return is_parameter(graph, in); });
}

bool freezes(const Block& block) {
  return std::any_of(block.graph.nodes.begin(), block.graph.nodes.end(), [&](const Node& node) {
    return is_frozen(node) && reads_parameters(block.graph, node);
  });
}

void freeze(Block& block) {
  for (Node& node : block.graph.nodes)
    if (!is_frozen(node) && reads_parameters(block.graph, node))
      node.attributes[kFrozenNode] = kByPlan;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t comma = text.find(',');
    words.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

[[noreturn]] void refuse_word(std::string_view expected, std::string_view found,
                              const std::vector<std::string_view>& names, const Place& place) {
  const std::string word(found.substr(0, 80));
  throw Error(
      Error::Kind::InvalidInput,
      "expected " + std::string(expected) + ", found \"" + word + "\"" + did_you_mean(word, names),
      place);
}

// Says of each node of a layer whether it is on a way between the residual stream and an op that
// mixes tokens.
class MixingNodes {
 public:
  explicit MixingNodes(const Graph& graph) : graph_(graph), found_(graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (mixes(graph.nodes[n])) go(n, true), go(n, false);
  }
  bool contains(std::size_t node) const { return found_[node]; }

 private:
  static bool mixes(const Node& node) {
    return node.op == &attention() || node.op == &gated_delta() || node.op == &state_space() ||
           node.op == &selective_scan();
  }
  static bool shares(const std::vector<TensorId>& made, const std::vector<TensorId>& read) {
    return std::any_of(made.begin(), made.end(), [&](TensorId id) {
      return std::find(read.begin(), read.end(), id) != read.end();
    });
  }

  void go(std::size_t from, bool down) {
    found_[from] = true;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node &here = graph_.nodes[from], &there = graph_.nodes[n];
      const bool joined =
          down ? shares(here.outputs, there.inputs) : shares(there.outputs, here.inputs);
      if (joined && there.op != &add() && !found_[n]) go(n, down);
    }
  }

  const Graph& graph_;
  std::vector<bool> found_;
};

constexpr std::string_view kAttention = "attention", kMlp = "mlp", kExperts = "experts",
                           kAllLinear = "all-linear";

bool is_linear(const Node& node) { return node.op == &matmul() && node.inputs.size() >= 2; }
bool is_routed(const Node& node) { return node.op == &routed_matmul() && node.inputs.size() >= 2; }

std::vector<bool> targets_of(const Graph& graph, const std::vector<std::string_view>& words) {
  const MixingNodes mixing(graph);
  const auto is_target = [&](std::size_t n) {
    const Node& node = graph.nodes[n];
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      if (is_routed(node)) return word == kExperts || word == node.name;
      return is_linear(node) &&
             (word == kAllLinear || word == (mixing.contains(n) ? kAttention : kMlp) ||
              word == node.name);
    });
  };
  std::vector<bool> found;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) found.push_back(is_target(n));
  return found;
}

// Adds the adapter of a product behind it, and returns the sum of both. Each expert of a routed
// product has an adapter of its own.
TensorId add_adapter(Graph& graph, const Node& product, const LoraSpec& lora) {
  const Shape weight = graph[product.inputs[1]].shape;
  const Shape experts(weight.begin(), weight.end() - 2);  // none of a product that all tokens share
  const Dim rank{lora.rank, Axis::None, 0};
  const bool column = product.split == TensorSplit::Column, row = product.split == TensorSplit::Row;
  const std::map<std::string, std::int64_t> marked = {{kAdapter, 1}};
  std::map<std::string, std::int64_t> as_product = marked;
  if (is_routed(product)) as_product["top_k"] = attribute(product, "top_k");
  const auto multiply = [&](const char* which, TensorId x, Dim in, Dim out, TensorSplit split) {
    const std::string name = product.name + which;
    Tensor made;
    made.name = name + ".weight";
    made.shape = experts;
    made.shape.insert(made.shape.end(), {in, out});
    made.kind = TensorKind::Parameter;
    const TensorId own = graph.add(std::move(made));
    return graph.add(name, *product.op, {x, own}, as_product, split);
  };
  const TensorId narrow = multiply(".lora_A", product.inputs[0], weight[weight.size() - 2], rank,
                                   row ? TensorSplit::Row : TensorSplit::None);
  const TensorId wide = multiply(".lora_B", narrow, rank, weight.back(),
                                 column ? TensorSplit::Column : TensorSplit::None);
  const TensorSplit beside = column ? TensorSplit::Inside : TensorSplit::None;
  const TensorId scaled =
      graph.add(product.name + ".lora_scale", scale(), {wide},
                {{kAdapter, 1}, {"numerator", lora.alpha}, {"denominator", lora.rank}}, beside);
  return graph.add(product.name + ".lora_add", add(), {product.outputs[0], scaled}, marked, beside);
}

Graph adapted(const Graph& given, const std::vector<bool>& targets, const LoraSpec& lora) {
  Graph graph = given;
  graph.nodes.clear();
  std::vector<TensorId> now;  // by tensor: what readers of it read
  for (std::uint32_t t = 0; t < given.tensors.size(); ++t) now.push_back({t});
  for (std::size_t n = 0; n < given.nodes.size(); ++n) {
    Node node = given.nodes[n];
    for (TensorId& in : node.inputs) in = now[in.value];
    graph.nodes.push_back(node);
    if (targets[n]) now[node.outputs[0].value] = add_adapter(graph, node, lora);
  }
  if (graph.output.valid()) graph.output = now[graph.output.value];
  return graph;
}

// Adapters are taken out, and what read their sums reads the products again.
Graph without_adapters(const Graph& given) {
  Graph graph = given;
  std::vector<TensorId> now;
  for (std::uint32_t t = 0; t < given.tensors.size(); ++t) now.push_back({t});
  graph.nodes.clear();
  for (Node node : given.nodes) {
    for (TensorId& in : node.inputs) in = now[in.value];
    if (!is_adapter(node))
      graph.nodes.push_back(std::move(node));
    else if (node.op == &add())
      now[node.outputs[0].value] = node.inputs[0];
  }
  if (graph.output.valid()) graph.output = now[graph.output.value];
  return without_unused_tensors(graph);
}

// Returns the block in whose sequence images take places, with which the decoder of a
// vision-language model begins; 0 where a model has none.
int first_of_decoder(const Model& model) {
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    for (const Node& node : model.blocks[b].graph.nodes)
      if (node.op == &place_images()) return static_cast<int>(b);
  return 0;
}

// Returns the last layer before that block: the projector behind it is none of the tower.
int tower_end(const Model& model, int decoder) {
  while (decoder > 0 && !model.blocks[static_cast<std::size_t>(decoder - 1)].layer) --decoder;
  return decoder - 1;
}

std::string quoted_name(std::string_view name) { return "\"" + std::string(name) + "\""; }

void expect_same_fate(const Model& model, const Place& place) {
  for (const Block& block : model.blocks)
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t) {
      const std::string& tied = block.graph.tensors[t].tied_to;
      if (tied.empty()) continue;
      for (const Block& owner : model.blocks)
        for (std::uint32_t o = 0; o < owner.graph.tensors.size(); ++o)
          if (owner.name + "/" + owner.graph.tensors[o].name == tied &&
              is_frozen(owner.graph, {o}) != is_frozen(block.graph, {t}))
            throw Error(Error::Kind::InvalidInput,
                        "expected " + quoted_name(owner.name) + " and " + quoted_name(block.name) +
                            " both frozen or both trained, because they share one table, found " +
                            quoted_name(is_frozen(block.graph, {t}) ? block.name : owner.name) +
                            " frozen alone",
                        place);
    }
}

}  // namespace

bool is_frozen(const Node& node) { return attribute(node, kFrozenNode) != 0; }

bool is_frozen(const Node& node, std::size_t i) { return is_frozen(node) || is_pattern(node, i); }

bool is_frozen(const Graph& graph, TensorId parameter) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == parameter && is_frozen(node, i)) return true;
    return false;
  });
}

std::vector<bool> frozen_parameters(const Graph& graph) {
  std::vector<bool> found(graph.tensors.size());
  for (const Node& node : graph.nodes)
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (is_frozen(node, i)) found[node.inputs[i].value] = is_parameter(graph, node.inputs[i]);
  return found;
}

bool is_adapter(const Node& node) { return attribute(node, kAdapter) != 0; }

bool begins_at_zero(const Graph& graph, TensorId parameter) {
  return graph[parameter].name.ends_with(".lora_B.weight") &&
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
           return is_adapter(node) && node.inputs.size() > 1 && node.inputs[1] == parameter;
         });
}

bool trains(const Block& block) {
  return std::any_of(block.graph.nodes.begin(), block.graph.nodes.end(), [&](const Node& node) {
    return !is_frozen(node) && reads_parameters(block.graph, node);
  });
}

bool any_frozen(const Model& model) {
  return std::any_of(model.blocks.begin(), model.blocks.end(), freezes);
}

bool wants_input_gradient(const Model& model, int block) {
  const auto here = model.blocks.begin() + block;
  return std::any_of(model.blocks.begin(), here, trains) || (here->layer && trains(*here));
}

std::int64_t trained_parameters(const Model& model) {
  std::int64_t total = 0;
  for (const Block& block : model.blocks) {
    std::int64_t once = 0;
    const std::vector<bool> is_frozen = frozen_parameters(block.graph);
    for (std::size_t t = 0; t < block.graph.tensors.size(); ++t) {
      const Tensor& tensor = block.graph.tensors[t];
      if (tensor.kind == TensorKind::Parameter && tensor.tied_to.empty() && !is_frozen[t])
        once = saturating_sum(once, local_elements(tensor.shape, Binding{}));
    }
    for (const Node& node : block.graph.nodes)
      if (const auto sparse = sparse_weight_of(block.graph, node))
        once -= sparse->shape.room() - sparse->shape.stored();
    total = saturating_sum(total, saturating_product(once, block.count));
  }
  return total;
}

Model with_adapters(Model model, const LoraSpec& lora, const Place& place) {
  const std::vector<std::string_view> words = words_of(lora.targets);
  std::vector<std::string_view> names = {kAttention, kMlp, kExperts, kAllLinear};
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (block.layer && (is_linear(node) || is_routed(node))) names.push_back(node.name);
  for (std::string_view word : words)
    if (std::find(names.begin(), names.end(), word) == names.end())
      refuse_word("attention, mlp, experts, all-linear or a linear layer of the model", word, names,
                  place);
  for (Block& block : model.blocks) freeze(block);
  bool any = false;
  for (Block& block : model.blocks) {
    if (!block.layer) continue;
    const std::vector<bool> targets = targets_of(block.graph, words);
    if (std::find(targets.begin(), targets.end(), true) == targets.end()) continue;
    block.graph = adapted(block.graph, targets, lora);
    any = true;
  }
  if (!any)
    throw Error(Error::Kind::InvalidInput,
                "expected a linear layer to adapt, found that no layer of " + model.name +
                    " has one of " + std::string(lora.targets),
                place);
  return model;
}

Model with_frozen(Model model, std::string_view parts, const Place& place) {
  int first = static_cast<int>(model.blocks.size()), last = -1;
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b)
    if (model.blocks[static_cast<std::size_t>(b)].layer) first = std::min(first, b), last = b;
  const int decoder = first_of_decoder(model), tower = tower_end(model, decoder);
  std::vector<std::string_view> names = {"embedding", "layers", "head", "all-but-head"};
  if (decoder > 0) names.emplace_back("vision");
  const auto groups = static_cast<std::ptrdiff_t>(names.size());
  std::vector<bool> chosen(model.blocks.size());
  for (std::size_t b = 0; b < model.blocks.size(); ++b) names.push_back(model.blocks[b].name);
  for (std::string_view word : words_of(parts)) {
    const auto own = std::find(names.begin() + groups, names.end(), word);
    if (own != names.end()) {
      chosen[static_cast<std::size_t>(own - names.begin() - groups)] = true;
      continue;
    }
    if (std::find(names.begin(), names.end(), word) == names.end())
      refuse_word(std::string("embedding, layers, head, all-but-head") +
                      (decoder > 0 ? ", vision" : "") + " or a block of the model",
                  word, names, place);
    for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
      const bool head = b > last, embedding = b < first, vision = b < decoder;
      if (word == "head"           ? head
          : word == "embedding"    ? embedding
          : word == "all-but-head" ? !head
          : word == "vision"       ? b <= tower
                                   : !head && !embedding && !vision)
        chosen[static_cast<std::size_t>(b)] = true;
    }
  }
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    if (chosen[b]) freeze(model.blocks[b]);
  expect_same_fate(model, place);
  return model;
}

bool is_as_given(const Model& model) {
  return !has_divided_rows(model) && !has_sparse_weights(model) &&
         std::none_of(model.blocks.begin(), model.blocks.end(), [](const Block& block) {
           return std::any_of(block.graph.nodes.begin(), block.graph.nodes.end(),
                              [](const Node& node) {
                                return is_adapter(node) || is_table_train(node) ||
                                       attribute(node, kFrozenNode) == kByPlan;
                              });
         });
}

Model as_given(Model model) {
  for (Block& block : model.blocks) {
    std::vector<Node>& nodes = block.graph.nodes;
    if (std::any_of(nodes.begin(), nodes.end(), is_adapter))
      block.graph = without_adapters(block.graph);
    for (Node& node : block.graph.nodes)
      if (attribute(node, kFrozenNode) == kByPlan) node.attributes.erase(kFrozenNode);
  }
  if (has_sparse_weights(model)) model = with_dense_weights(std::move(model));
  model = without_table_trains(std::move(model));
  return has_divided_rows(model) ? with_whole_rows(std::move(model)) : model;
}

}  // namespace trainyard
