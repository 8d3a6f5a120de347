#include "core/model/trained_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/units_text.h"
#include "core/model/hot_rows.h"
#include "core/model/ops.h"
#include "core/model/refit.h"

namespace trainyard {
namespace {

constexpr std::string_view kCore = ".core_";
// Attributes that a node of cores has beyond those of the look-up in whose place it stands.
constexpr const char* kOfTrains[] = {"rows",     "first_rank", "second_rank",
                                     "hot_rows", "zipf",       "published_start"};
constexpr double kThousand = 1000;

std::string core_name(std::string_view table, std::size_t core) {
  return std::string(table) + std::string(kCore) + std::to_string(core + 1);
}

bool is_plain(const Dim& dim) { return dim.axis == Axis::None && dim.units == 0; }

bool is_shared(const Model& model, const Block& block, const Tensor& table) {
  if (!table.tied_to.empty()) return true;
  const std::string address = block.name + "/" + table.name;
  return std::any_of(model.blocks.begin(), model.blocks.end(), [&](const Block& other) {
    return std::any_of(other.graph.tensors.begin(), other.graph.tensors.end(),
                       [&](const Tensor& tensor) { return tensor.tied_to == address; });
  });
}

// A table that one look-up alone reads, and no other block.
const Tensor* own_table(const Model& model, const Block& block, const Node& node) {
  const Graph& graph = block.graph;
  if (node.op != &embedding() || graph[node.inputs[0]].name == "position_ids") return nullptr;
  const Tensor& table = graph[node.inputs[1]];
  const bool vocabulary = node.split == TensorSplit::Vocab && table.shape[0].axis == Axis::Vocab &&
                          table.shape[0].units == 0;
  if (table.kind != TensorKind::Parameter || !is_plain(table.shape[1]) ||
      !(vocabulary || (node.split == TensorSplit::None && is_plain(table.shape[0]))))
    return nullptr;
  std::ptrdiff_t readers = 0;
  for (const Node& other : graph.nodes)
    readers += std::count(other.inputs.begin(), other.inputs.end(), node.inputs[1]);
  return readers == 1 && !is_shared(model, block, table) ? &table : nullptr;
}

// The first core takes the place of the table, so that all other tensors keep their ids and with
// them the weights with which they begin.
void replace_table(Graph& graph, Node& node, const TensorTrain& train) {
  const TensorId table = node.inputs[1];
  const std::string name = graph[table].name;
  const auto plain = [](std::int64_t size) { return Dim{size, Axis::None, 0}; };
  for (std::size_t k = 0; k < kCores; ++k) {
    Tensor core{core_name(name, k),
                {plain(train.row_bases[k]), plain(train.slice(k))},
                TensorKind::Parameter,
                {}};
    if (k == 0)
      graph.tensors[table.value] = std::move(core);
    else
      node.inputs.push_back(graph.add(std::move(core)));
  }
  node.op = &tensor_train();
  node.attributes["rows"] = train.rows;
  node.attributes["first_rank"] = train.first_rank;
  node.attributes["second_rank"] = train.second_rank;
}

void add_cache(Graph& graph, Node& node, const TableTrainSpec& spec) {
  node.attributes["hot_rows"] = std::min(spec.hot_rows, attribute(node, "rows"));
  node.attributes["zipf"] = std::llround(kThousand * spec.zipf);
  Tensor hot = node.op->infer(graph, node)[1];
  hot.name = node.name + ".hot_rows";
  node.outputs.push_back(graph.add(std::move(hot)));
}

void restore_table(Graph& graph, Node& node) {
  const TensorTrain train = tensor_train_of(graph, node);
  Tensor& table = graph.tensors[node.inputs[1].value];
  table.name.resize(table.name.size() - core_name("", 0).size());
  const Axis rows = node.split == TensorSplit::Vocab ? Axis::Vocab : Axis::None;
  table.shape = {Dim{train.rows, rows, 0}, Dim{train.width(), Axis::None, 0}};
  node.inputs.resize(2);
  node.outputs.resize(1);
  node.op = &embedding();
  for (const char* attribute : kOfTrains) node.attributes.erase(attribute);
}

[[noreturn]] void refuse_tables(const Model& model, const TableTrainSpec& spec,
                                std::int64_t largest, const Place& place) {
  const std::string found =
      largest == 0 ? "found that " + model.name + " has no table of its own"
                   : "found that the largest of " + model.name + " has " + std::to_string(largest);
  throw Error(Error::Kind::InvalidInput,
              "expected an embedding table of at least " + std::to_string(spec.least_rows) +
                  " rows that no other block shares and that cores of rank " +
                  std::to_string(spec.rank) + " make smaller, " + found,
              place);
}

}  // namespace

std::vector<OwnTable> own_tables(const Model& model) {
  std::vector<OwnTable> found;
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    for (const Node& node : model.blocks[b].graph.nodes)
      if (const Tensor* const table = own_table(model, model.blocks[b], node))
        found.push_back({static_cast<int>(b), node.name, node.inputs[0], table->shape[0].size,
                         table->shape[1].size});
  return found;
}

Model with_table_trains(Model model, const TableTrainSpec& spec, const Place& place) {
  std::int64_t largest = 0;
  bool any = false;
  for (Block& block : model.blocks)
    for (std::size_t n = 0; n < block.graph.nodes.size(); ++n) {
      const Tensor* const table = own_table(model, block, block.graph.nodes[n]);
      if (table == nullptr) continue;
      const std::int64_t rows = table->shape[0].size, width = table->shape[1].size;
      largest = std::max(largest, rows);
      if (rows < spec.least_rows) continue;
      const TensorTrain train = tensor_train_of(rows, width, spec.rank);
      if (train.weights() >= local_elements(table->shape, Binding{})) continue;
      replace_table(block.graph, block.graph.nodes[n], train);
      if (spec.start == TrainStart::Published)
        block.graph.nodes[n].attributes["published_start"] = std::int64_t{1};
      any = true;
    }
  if (!any) refuse_tables(model, spec, largest, place);
  // These come last, so that cores begin with the same weights whether or not there is a cache.
  for (Block& block : model.blocks)
    for (Node& node : block.graph.nodes)
      if (spec.hot_rows > 0 && is_table_train(node)) add_cache(block.graph, node, spec);
  return model;
}

Model without_table_trains(Model model) {
  for (Block& block : model.blocks) {
    bool any = false;
    for (Node& node : block.graph.nodes)
      if (is_table_train(node)) restore_table(block.graph, node), any = true;
    if (any) block.graph = without_unused_tensors(block.graph);
  }
  return model;
}

bool is_table_train(const Node& node) { return node.op == &tensor_train(); }

std::vector<TrainedTable> trained_tables(const Model& model) {
  std::vector<TrainedTable> found;
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    for (const Node& node : model.blocks[b].graph.nodes) {
      if (!is_table_train(node)) continue;
      TrainedTable table{static_cast<int>(b), node.name,
                         tensor_train_of(model.blocks[b].graph, node)};
      table.hot_rows = attribute(node, "hot_rows");
      if (table.hot_rows > 0)
        table.hit_share = zipf_share(table.hot_rows, table.train.rows,
                                     static_cast<double>(attribute(node, "zipf")) / kThousand);
      found.push_back(std::move(table));
    }
  return found;
}

std::vector<std::string> table_sentences(const Model& model) {
  std::vector<std::string> said;
  for (const TrainedTable& table : trained_tables(model)) {
    const TensorTrain& train = table.train;
    const double whole = static_cast<double>(train.rows) * static_cast<double>(train.width()),
                 held = static_cast<double>(train.weights());
    std::string sentence = fmt::format(
        "{} of {} rows of {} numbers is trained as cores of ranks {} and {}: {} numbers, {:.0f} "
        "times fewer",
        table.name, train.rows, train.width(), train.first_rank, train.second_rank, train.weights(),
        whole / held);
    if (table.hot_rows > 0)
      sentence += fmt::format("; its {} hottest rows take {} of all look-ups", table.hot_rows,
                              readable_share(table.hit_share));
    said.push_back(std::move(sentence));
  }
  return said;
}

const Node* train_of_core(const Graph& graph, TensorId parameter) {
  for (const Node& node : graph.nodes)
    if (is_table_train(node) &&
        std::find(node.inputs.begin(), node.inputs.end(), parameter) != node.inputs.end())
      return &node;
  return nullptr;
}

}  // namespace trainyard
