#include "core/lowering/layer_strategies.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/methods/memory/offload.h"
#include "core/methods/parallel/ulysses_layers.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/settings/resharding.h"
#include "core/plan/layer_ranges.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

struct ByLayer {
  std::string_view param;
  bool LayerStrategy::* has;
};
constexpr ByLayer kByLayer[] = {{kWideLayers, &LayerStrategy::wide},
                                {kGatheredLayers, &LayerStrategy::stays},
                                {kUlyssesLayers, &LayerStrategy::exchanges}};

bool varies(const Params& params, std::string_view param) {
  return params.has(param) && params.text(param) != "none";
}

// Layers are counted from the input, as stages take them.
void let_layers_leave(std::vector<LayerStrategy>& strategies, const Scenario& scenario) {
  const std::optional<RecomputePolicies> policies = offloaded_layers(scenario.plan);
  if (!policies) return;
  const std::vector<int> layers = stage_layers(scenario.model, scenario.plan);
  std::size_t layer = 0;
  for (std::size_t stage = 0; stage < layers.size(); ++stage)
    for (const PolicyRun& run : policies_of(*policies, stage, layers[stage]))
      for (int i = 0; i < run.layers; ++i) strategies[layer++].leaves = to_text(run.policy);
}

}  // namespace

std::vector<LayerStrategy> layer_strategies(const Scenario& scenario) {
  const int layers = layer_count(scenario.model);
  std::vector<LayerStrategy> strategies(static_cast<std::size_t>(layers));
  for (const Choice& chosen : scenario.plan.choices)
    for (const ByLayer& one : kByLayer) {
      if (!varies(chosen.params, one.param)) continue;
      const std::vector<bool> in =
          in_ranges(parse_layer_ranges(chosen.params.text(one.param)), layers);
      for (std::size_t l = 0; l < in.size(); ++l)
        if (in[l]) strategies[l].*one.has = true;
    }
  let_layers_leave(strategies, scenario);
  return strategies;
}

Layout layout_of_layer(const Layout& plan, const LayerStrategy& strategy) {
  Layout layout = plan;
  if (strategy.exchanges) exchange_over_tensor_ranks(layout);
  return layout;
}

bool treats_layers_alike(const Scenario& scenario) {
  const std::vector<LayerStrategy> all = layer_strategies(scenario);
  return std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end();
}

const Params& params_of_layer(const Params& plan, const LayerStrategy& strategy, Params& own) {
  const Params* given = &plan;
  for (const ByLayer& one : kByLayer) {
    if (!varies(plan, one.param)) continue;
    if (given == &plan) own = plan, given = &own;
    own.set(std::string(one.param), std::string(strategy.*one.has ? "all" : "none"));
  }
  if (!strategy.leaves.empty() && plan.has(kOffloadedLayers)) {
    if (given != &own) own = *given, given = &own;
    own.set(std::string(kOffloadedLayers), strategy.leaves);
  }
  return *given;
}

}  // namespace trainyard
