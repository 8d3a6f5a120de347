#include "core/plan/stages.h"

#include <fmt/format.h>

#include <numeric>

#include "core/plan/balanced.h"

namespace trainyard {
namespace {

std::int64_t stage_count(const Plan& plan) {
  return std::int64_t{plan.mesh.pp} * plan.virtual_stages;
}

Diagnostic error(std::string message, std::string place, std::string fix = {}) {
  return {Diagnostic::Severity::Error, std::move(message), {std::move(place)}, std::move(fix)};
}

/// Returns the layers of each stage; the earlier stages get one more where the layers do not divide
/// evenly.
std::vector<int> even_split(int layers, std::int64_t stages) {
  const auto n = static_cast<std::size_t>(stages);
  std::vector<int> split(n, static_cast<int>(layers / stages));
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers % stages); ++i) ++split[i];
  return split;
}

/// Counts the parameters that matrix products read. Embedding tables are only looked up, which is
/// taken to cost nothing.
std::int64_t product_parameters(const Block& block, bool embedding) {
  std::int64_t sum = 0;
  for (const Tensor& t : block.graph.tensors)
    if (t.kind == TensorKind::Parameter && t.shape.size() == 2 && !embedding)
      sum += t.shape[0].size * t.shape[1].size;
  return sum;
}

/// A layer that crosses the boundary of a stage's share of the cost still belongs to that stage, as
/// in nanotron.
std::vector<int> split_by_cost(const Model& model, std::int64_t stages) {
  std::vector<std::int64_t> costs;  // cost of each layer, then of everything after the last layer
  std::int64_t rest = 0;
  bool layers = false;
  for (const Block& block : model.blocks) {
    layers = layers || block.layer;
    const std::int64_t cost = product_parameters(block, !layers);
    if (block.layer)
      costs.insert(costs.end(), static_cast<std::size_t>(block.count), cost);
    else
      rest += cost * block.count;
  }
  const std::int64_t whole = std::accumulate(costs.begin(), costs.end(), rest);
  std::vector<int> split(static_cast<std::size_t>(stages), 0);
  std::size_t stage = 0;
  std::int64_t sum = 0;
  for (std::size_t layer = 0; layer < costs.size(); ++layer) {
    // Every later stage needs at least one layer.
    if (costs.size() - layer == split.size() - stage - 1) ++stage;
    ++split[stage];
    sum += costs[layer];
    const bool full = sum > whole / stages * static_cast<std::int64_t>(stage + 1);
    if (full && stage + 1 < split.size()) ++stage;
  }
  return split;
}

bool splits_by_cost(const Plan& plan) {
  return plan.split.layers.empty() && framework(plan.software.framework).splits_by_cost;
}

std::vector<int> default_split(const Model& model, const Plan& plan) {
  return splits_by_cost(plan) ? split_by_cost(model, stage_count(plan))
                              : even_split(layer_count(model), stage_count(plan));
}

std::string comma_list(const std::vector<int>& split) {
  return fmt::format("{}", fmt::join(split, ","));
}

/// Returns the pipeline degree nearest to the plan's, in the direction of step, that divides the
/// layers; 0 when there is none.
std::int64_t dividing_degree(int layers, const Plan& plan, int step) {
  const std::int64_t v = plan.virtual_stages;
  for (std::int64_t pp = plan.mesh.pp + step; pp >= 1 && pp * v <= layers; pp += step)
    if (layers % (pp * v) == 0) return pp;
  return 0;
}

Diagnostic does_not_divide(int layers, const Plan& plan) {
  const std::int64_t stages = stage_count(plan);
  const std::int64_t below = dividing_degree(layers, plan, -1),
                     above = dividing_degree(layers, plan, 1);
  std::string message = fmt::format("{} layers do not divide into {} stages: {} or {} each", layers,
                                    stages, layers / stages, layers / stages + 1);
  if (below > 0 && above > 0)
    message += fmt::format("; pp={} and pp={} divide them", below, above);
  else if (below > 0 || above > 0)
    message += fmt::format("; pp={} divides them", below > 0 ? below : above);
  constexpr std::int64_t kLongestList = 64;  // nobody would type a longer list
  std::string fix;
  if (stages <= kLongestList)
    fix = "split=" + comma_list(even_split(layers, stages));
  else if (below > 0)
    fix = fmt::format("pp={}", below);
  return error(std::move(message), "plan#/split", std::move(fix));
}

Diagnostic too_many_stages(int layers, const Plan& plan) {
  const std::int64_t most = std::max<std::int64_t>(1, layers / plan.virtual_stages);
  const std::string made = plan.virtual_stages > 1
                               ? fmt::format("{} stages (pp {} x virtual-stages {})",
                                             stage_count(plan), plan.mesh.pp, plan.virtual_stages)
                               : fmt::format("{} stages", plan.mesh.pp);
  std::int64_t pp = most;
  while (pp > 1 && layers % (pp * plan.virtual_stages) != 0) --pp;
  return error(fmt::format("{} layers cannot fill {}: each needs at least one", layers, made),
               "plan#/mesh/pp",
               layers < plan.virtual_stages ? "virtual-stages=1" : fmt::format("pp={}", pp));
}

/// Reports a stage that holds nothing although the split adds up; blocks that are not layers fill
/// the first and the last stage.
void check_empty(const Model& model, const std::vector<int>& split, Diagnostics& found) {
  const bool has_layers = layer_count(model) > 0;
  const bool ahead = has_layers && !model.blocks.front().layer,
             behind = has_layers && !model.blocks.back().layer;
  for (std::size_t i = 0; i < split.size(); ++i) {
    if (split[i] != 0 || (i == 0 && ahead) || (i + 1 == split.size() && behind)) continue;
    found.push_back(error(fmt::format("stage {} has no layers; each needs at least one", i),
                          fmt::format("plan#/split/{}", i)));
    return;  // one report is enough; a list of zeros would repeat it a thousand times
  }
}

Diagnostics check_given(const Model& model, const Plan& plan) {
  const std::vector<int>& split = plan.split.layers;
  const std::int64_t stages = stage_count(plan);
  const int layers = layer_count(model);
  Diagnostics found;
  for (std::size_t i = 0; i < split.size() && found.empty(); ++i)
    if (split[i] < 0)
      found.push_back(error(fmt::format("expected layers of at least 0, found {}", split[i]),
                            fmt::format("plan#/split/{}", i)));
  if (static_cast<std::int64_t>(split.size()) != stages)
    found.push_back(error(fmt::format("the split names {} stages, but pp {} x virtual-stages {} "
                                      "make {}",
                                      split.size(), plan.mesh.pp, plan.virtual_stages, stages),
                          "plan#/split", "split=even"));
  if (!found.empty()) return found;
  const std::int64_t sum = std::accumulate(split.begin(), split.end(), std::int64_t{0});
  if (sum != layers)
    found.push_back(
        error(fmt::format("the split adds up to {} layers, but {} has {}", sum, model.name, layers),
              "plan#/split", "split=even"));
  if (found.empty()) check_empty(model, split, found);
  return found;
}

/// Adds `count` layers of a block to a stage's runs.
void add(Stage& stage, int block, int first, int count) {
  if (count > 0) stage.runs.push_back({block, count, first});
}

}  // namespace

std::vector<int> stage_layers(const Model& model, const Plan& plan) {
  std::vector<int> layers;
  for (const Stage& stage : stages(model, plan)) {
    int count = 0;
    for (const LayerRun& run : stage.runs)
      if (model.blocks[static_cast<std::size_t>(run.block)].layer) count += run.count;
    layers.push_back(count);
  }
  return layers;
}

Diagnostics check_split(const Model& model, const Plan& plan) {
  if (plan.mesh.pp < 1)
    return {error(fmt::format("expected pp of at least 1, found {}", plan.mesh.pp), "plan#/mesh/pp",
                  "pp=1")};
  if (plan.virtual_stages < 1)
    return {
        error(fmt::format("expected virtual-stages of at least 1, found {}", plan.virtual_stages),
              "plan#/virtual_stages", "virtual-stages=1")};
  if (is_balanced_later(plan.split))
    return {
        error("expected layers of each stage or an even split, found a balanced one that is not "
              "worked out yet",
              "plan#/split", "split=even")};
  if (!plan.split.layers.empty()) return check_given(model, plan);
  const int layers = layer_count(model);
  if (stage_count(plan) == 1) return {};
  if (layers < stage_count(plan)) return {too_many_stages(layers, plan)};
  if (layers % stage_count(plan) != 0 && !splits_by_cost(plan))
    return {does_not_divide(layers, plan)};
  return {};
}

std::vector<Stage> stages(const Model& model, const Plan& plan, Placement placement) {
  throw_if_errors(check_split(model, plan));
  const int layers = layer_count(model);
  const std::vector<int> split =
      plan.split.layers.empty() ? default_split(model, plan) : plan.split.layers;
  std::vector<Stage> table(split.size());
  for (std::size_t s = 0; s < table.size(); ++s)
    table[s].device = device_of(StageId{static_cast<std::uint32_t>(s)}, plan.mesh.pp,
                                static_cast<int>(table.size()), placement);
  std::size_t at = 0;
  int room = split[0], seen = 0;  // layers that stage `at` can still take; layers placed so far
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const Block& block = model.blocks[b];
    if (!block.layer) {
      const std::size_t stage = seen == 0 ? 0 : seen == layers ? table.size() - 1 : at;
      add(table[stage], static_cast<int>(b), 0, block.count);
      continue;
    }
    for (int first = 0; first < block.count;) {
      while (room == 0) room = split[++at];
      const int count = std::min(room, block.count - first);
      add(table[at], static_cast<int>(b), first, count);
      first += count, room -= count, seen += count;
    }
  }
  return table;
}

}  // namespace trainyard
