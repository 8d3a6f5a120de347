#include "planners/partition/split_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/estimate/estimate.h"
#include "core/lowering/split_again.h"
#include "core/memory/process_bytes.h"
#include "core/methods/catalogue.h"
#include "core/plan/placement.h"

namespace trainyard {
namespace {

std::vector<int> layers_by_stage(const Workload& w) {
  std::vector<int> found;
  for (const Stage& stage : w.table) {
    int layers = 0;
    for (const LayerRun& run : stage.runs)
      if (w.scenario.model.blocks[static_cast<std::size_t>(run.block)].layer) layers += run.count;
    found.push_back(layers);
  }
  return found;
}

// Returns whether recomputation depends on the layers of each stage; then not every split is legal
// with it.
bool counts_layers(const Plan& plan) {
  const Choice* recompute = find_choice(plan, "recompute");
  if (recompute == nullptr) return false;
  const std::string& policy = recompute->params.text("policy");
  return policy == "blocks" || policy.find_first_of("*/,") != std::string::npos;
}

// Arranges sizes so that large and small ones alternate as evenly as possible.
std::vector<int> spread(std::vector<int> sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::vector<int> found(sizes.size());
  const std::size_t n = sizes.size();
  // Assigns the sizes to places in the order of a low-discrepancy sequence: the fractional parts of
  // i times the golden ratio.
  std::vector<std::pair<double, std::size_t>> places;
  for (std::size_t i = 0; i < n; ++i) {
    const double walk = 0.6180339887498949 * static_cast<double>(i + 1);
    places.emplace_back(walk - static_cast<double>(static_cast<std::int64_t>(walk)), i);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < n; ++i) found[places[i].second] = sizes[i];
  return found;
}

Bytes missing_memory(const Workload& w, const StepEstimate& step) {
  const std::vector<Bytes> capacity = capacities(w);
  Bytes most{};
  for (std::size_t d = 0; d < capacity.size(); ++d)
    most = std::max(most, step.reserved[d] - capacity[d]);
  return most;
}

auto key(const SplitSearch::Tried& t) { return std::tie(t.missing, t.step); }

}  // namespace

SplitSearch::SplitSearch(Workload& w, const CostModel& cost)
    : w_(w), cost_(cost), counts_layers_(counts_layers(w.scenario.plan)) {
  const StepEstimate step = estimate_step(w, cost);
  best_ = {{layers_by_stage(w)}, step.step, {}};
  best_.missing = missing_memory(w, step);
  tried_.insert(best_.split.layers);
}

bool SplitSearch::offer(const StageSplit& split) {
  if (!tried_.insert(split.layers).second) return false;
  split_again(w_, split);
  if (counts_layers_ &&
      has_errors(method("recompute")
                     .check(w_.scenario, find_choice(w_.scenario.plan, "recompute")->params)))
    return false;
  const StepEstimate step = estimate_step(w_, cost_);
  Tried tried{split, step.step, {}};
  tried.missing = missing_memory(w_, step);
  if (!(key(tried) < key(best_))) return false;
  best_ = std::move(tried);
  return true;
}

void SplitSearch::offer_arrangements(const StageSplit& split) {
  offer(split);
  if (split.layers.size() < 4) return;
  std::vector<int> between(split.layers.begin() + 1, split.layers.end() - 1);
  const auto offer_between = [&](const std::vector<int>& sizes) {
    StageSplit other = split;
    std::copy(sizes.begin(), sizes.end(), other.layers.begin() + 1);
    offer(other);
  };
  std::sort(between.begin(), between.end());
  offer_between(between);
  offer_between(spread(between));
  std::reverse(between.begin(), between.end());
  offer_between(between);
}

void SplitSearch::improve(const PricedChain& chain, const SplitShape& shape) {
  const std::size_t stages = best_.split.layers.size();
  for (bool better = true; better;) {
    better = false;
    const StageSplit from = best_.split;
    const std::vector<Duration> loads = device_loads(chain, shape, from);
    const auto load = [&](std::size_t stage) {
      return loads[device_of(StageId{static_cast<std::uint32_t>(stage)}, shape.devices,
                             static_cast<int>(stages), shape.placement)
                       .value];
    };
    // Tries moves from the most loaded stages to the least loaded, from either end to the least
    // loaded, and from the most loaded to either end.
    std::vector<std::size_t> by_load(stages);
    std::iota(by_load.begin(), by_load.end(), 0);
    std::stable_sort(by_load.begin(), by_load.end(),
                     [&](std::size_t a, std::size_t b) { return load(a) > load(b); });
    constexpr std::size_t kFew = 3;
    const std::size_t few = std::min(kFew, stages);
    std::vector<std::size_t> givers(by_load.begin(),
                                    by_load.begin() + static_cast<std::ptrdiff_t>(few)),
        takers(by_load.rbegin(), by_load.rbegin() + static_cast<std::ptrdiff_t>(few));
    for (std::vector<std::size_t>* list : {&givers, &takers})
      for (const std::size_t end : {std::size_t{0}, stages - 1})
        if (std::find(list->begin(), list->end(), end) == list->end()) list->push_back(end);
    for (const std::size_t a : givers)
      for (const std::size_t b : takers) {
        if (a == b || from.layers[a] == 0 || tried_.size() >= kMostTried) continue;
        const StageSplit next = moved(from, a, b);
        if (is_legal(chain, next)) better |= offer(next);
      }
  }
}

}  // namespace trainyard
