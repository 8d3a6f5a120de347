#include "backends/start_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {
namespace {

constexpr std::string_view kWhole = "whole weights of ", kShape = " of shape ";

struct LayerOfModel {
  const Block* block = nullptr;
  int index = 0;  // among the layers of the block
};

LayerOfModel layer_of(const Model& model, int layer) {
  for (const Block& block : model.blocks) {
    if (layer < block.count) return {&block, layer};
    layer -= block.count;
  }
  throw Error(Error::Kind::Internal, "expected a layer of " + model.name);
}

std::string key_of(std::string_view block, int index, std::string_view name) {
  return fmt::format("{} {} {}", block, index, name);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

std::vector<std::int64_t> shape_of(std::string_view text) {
  std::vector<std::int64_t> shape;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('x'), text.size());
    shape.push_back(parse_integer(text.substr(0, end), {"checkpoint"}));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

struct WholeWeights {
  std::string_view shape, content;
};

// The checkpoint's whole weights, by key.
std::map<std::string, WholeWeights> whole_weights(const Checkpoint& checkpoint) {
  std::map<std::string, WholeWeights> found;
  for (const CheckpointPart& part : checkpoint.parts) {
    const std::string_view name = part.name;
    const std::size_t shape = name.rfind(kShape);
    if (!name.starts_with(kWhole) || shape == std::string_view::npos) continue;
    const std::string_view key = name.substr(kWhole.size(), shape - kWhole.size());
    found[std::string(key)] = {name.substr(shape + kShape.size()), part.content};
  }
  return found;
}

// The table of another block that this parameter is, as "embedding/token_embedding.weight".
std::string_view tied_table(const Block& block, std::string_view name) {
  for (const Tensor& tensor : block.graph.tensors)
    if (tensor.name == name) return tensor.tied_to;
  return {};
}

std::optional<std::string> key_of_table(std::string_view tied_to) {
  const std::size_t slash = tied_to.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return key_of(tied_to.substr(0, slash), 0, tied_to.substr(slash + 1));
}

bool fill(TrainedTensor& tensor, const WholeWeights& weights) {
  if (weights.shape != shape_text(tensor.shape) ||
      weights.content.size() != tensor.values.size() * sizeof(float))
    return false;
  std::memcpy(tensor.values.data(), weights.content.data(), weights.content.size());
  return true;
}

// A head may read the table of an embedding the other way round.
bool fill_turned(TrainedTensor& tensor, const WholeWeights& weights) {
  if (tensor.shape.size() != 2) return false;
  TrainedTensor turned{
      tensor.layer, tensor.name, {tensor.shape[1], tensor.shape[0]}, tensor.values};
  if (!fill(turned, weights)) return false;
  const auto rows = static_cast<std::size_t>(tensor.shape[0]),
             columns = static_cast<std::size_t>(tensor.shape[1]);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      tensor.values[r * columns + c] = turned.values[c * rows + r];
  return true;
}

// Numbers of a sparse pattern have as many digits as the format of its weights asks for, which were
// another one's there.
bool fill_pattern(TrainedTensor& tensor, const WholeWeights& weights, const Graph& graph) {
  const auto named = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                  [&](const Tensor& one) { return one.name == tensor.name; });
  if (named == graph.tensors.end()) return false;
  const TensorId id{static_cast<std::uint32_t>(named - graph.tensors.begin())};
  const std::optional<SparseWeight> sparse = sparse_weight_of(graph, id);
  if (!sparse || sparse->pattern != id) return false;
  SparseShape there = sparse->shape;
  const std::vector<std::int64_t> stored = shape_of(weights.shape);
  there.digits = stored.size() == 2 ? stored[1] : 1;
  std::vector<float> numbers(weights.content.size() / sizeof(float));
  if (there.digits < 1 || there.digits > kMostDigits ||
      static_cast<std::int64_t>(numbers.size()) != there.pattern_elements())
    return false;
  std::memcpy(numbers.data(), weights.content.data(), numbers.size() * sizeof(float));
  tensor.values = pattern_of(sparse->shape, places_of(there, numbers));
  return true;
}

void add_once(std::vector<std::string>& list, std::string name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(std::move(name));
}

// "layers 3 q_proj.weight" without the index.
std::string without_index(const std::string& key) {
  const std::size_t first = key.find(' '), second = key.find(' ', first + 1);
  return key.substr(0, first) + key.substr(second);
}

std::string listed(std::string_view what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  std::string text(what);
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i > 0 ? ", " : " ") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

}  // namespace

std::vector<std::string> StartedFrom::sentences() const {
  std::vector<std::string> lines = {fmt::format("{} tensors of {}", taken, file)};
  if (!fresh.empty()) lines.push_back(listed("not found there, and begun anew:", fresh));
  if (!reshaped.empty())
    lines.push_back(listed("of another shape there, and begun anew:", reshaped));
  if (!unused.empty()) lines.push_back(listed("not of this model, and left out:", unused));
  return lines;
}

std::vector<CheckpointPart> weight_parts(const Model& model,
                                         const std::vector<TrainedTensor>& tensors) {
  std::vector<CheckpointPart> parts;
  for (const TrainedTensor& t : tensors) {
    const LayerOfModel at = layer_of(model, t.layer);
    parts.push_back({std::string(kWhole) + key_of(at.block->name, at.index, t.name) +
                         std::string(kShape) + shape_text(t.shape),
                     std::string(reinterpret_cast<const char*>(t.values.data()),
                                 t.values.size() * sizeof(float))});
  }
  return parts;
}

std::vector<TrainedTensor> tensors_of(const Checkpoint& checkpoint, const Model& model) {
  const std::map<std::string, WholeWeights> there = whole_weights(checkpoint);
  std::vector<TrainedTensor> tensors;
  int layer = 0;
  for (const Block& block : model.blocks)
    for (int index = 0; index < block.count; ++index, ++layer)
      for (const Tensor& tensor : block.graph.tensors) {
        const auto found = there.find(key_of(block.name, index, tensor.name));
        if (tensor.kind != TensorKind::Parameter || found == there.end()) continue;
        TrainedTensor made{layer, tensor.name, shape_of(found->second.shape), {}};
        made.values.resize(found->second.content.size() / sizeof(float));
        if (fill(made, found->second)) tensors.push_back(std::move(made));
      }
  return tensors;
}

StartWeights start_weights(const Checkpoint& checkpoint, const Model& model,
                           std::vector<TrainedTensor> fresh, const std::string& path) {
  const std::map<std::string, WholeWeights> there = whole_weights(checkpoint);
  if (there.empty())
    throw Error(Error::Kind::InvalidInput,
                "expected a checkpoint that has weights by name, found one of a version that has "
                "them by device alone; going on from it with --resume writes them",
                {path});
  StartWeights start{std::move(fresh), {path, 0, {}, {}, {}}};
  StartedFrom& report = start.report;
  std::set<std::string> used;
  for (TrainedTensor& t : start.tensors) {
    const LayerOfModel at = layer_of(model, t.layer);
    const std::string key = key_of(at.block->name, at.index, t.name);
    auto found = there.find(key);
    bool filled = found != there.end() &&
                  (fill(t, found->second) || fill_pattern(t, found->second, at.block->graph));
    if (!filled)
      if (const auto table = key_of_table(tied_table(*at.block, t.name))) {
        found = there.find(*table);
        filled = found != there.end() && (fill(t, found->second) || fill_turned(t, found->second));
      }
    if (found != there.end()) used.insert(found->first);
    if (filled)
      ++report.taken;
    else
      add_once(found == there.end() ? report.fresh : report.reshaped, without_index(key));
  }
  // Stages of a pipeline have copies of a table that others share, which one device does not have.
  for (const Block& block : model.blocks)
    for (const Tensor& tensor : block.graph.tensors)
      if (!tensor.tied_to.empty()) used.insert(key_of(block.name, 0, tensor.name));
  for (const auto& [key, weights] : there)
    if (!used.contains(key)) add_once(report.unused, without_index(key));
  if (report.taken == 0)
    throw Error(Error::Kind::InvalidInput,
                "expected a checkpoint with weights of " + model.name + ", found one of " +
                    checkpoint.scenario + ", of which none is among them in the same shape",
                {path});
  return start;
}

std::vector<TrainedTensor> whole_start_weights(const std::string& path, const Model& model,
                                               std::vector<TrainedTensor> fresh) {
  StartWeights start = start_weights(load_checkpoint(path), model, std::move(fresh), path);
  std::vector<std::string> missing = std::move(start.report.fresh);
  missing.insert(missing.end(), start.report.reshaped.begin(), start.report.reshaped.end());
  if (!missing.empty())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected all weights of {}, found none for {}", model.name,
                            fmt::join(missing, ", ")),
                {path});
  return std::move(start.tensors);
}

}  // namespace trainyard
