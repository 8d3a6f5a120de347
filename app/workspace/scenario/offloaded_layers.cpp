#include "app/workspace/scenario/offloaded_layers.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "app/workspace/scenario/run_once.h"
#include "core/methods/memory/offload.h"
#include "core/methods/settings/settings.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

constexpr std::string_view kLayersKey = "offload-layers";

struct TriedLayers {
  std::string text;
  bool fits = false;
  Duration step{};
};

// The first `count` layers of every stage, of which the longest has `most`.
std::string first_layers(int count, int most) {
  if (count == 0) return "none";
  return count == most ? "all" : "all*" + std::to_string(count) + ",none";
}

TriedLayers try_layers(Scenario scenario, const std::string& text, const CostModel& cost) {
  apply_setting(scenario.plan, kLayersKey, text);
  const auto run = run_once(scenario, {.grain = Grain::Op, .cost = &cost});
  return {text, run->result.verdict.fits, run->result.step.value};
}

}  // namespace

bool asks_for_layers(const Plan& plan) { return setting(plan, kLayersKey) == kFewestLayers; }

void choose_offloaded_layers(Scenario& scenario, const CostModel& cost) {
  const auto tried = [&](const std::string& text) { return try_layers(scenario, text, cost); };
  const auto choose = [&](const TriedLayers& layers) {
    apply_setting(scenario.plan, kLayersKey, layers.text);
  };
  if (const TriedLayers none = tried("none"); none.fits) return choose(none);
  const std::vector<int> layers = stage_layers(scenario.model, complete(scenario));
  const int most = *std::max_element(layers.begin(), layers.end());
  const TriedLayers all = tried("all");
  TriedLayers best = all;
  for (int too_few = 0, enough = all.fits ? most : 0; too_few + 1 < enough;) {
    const int middle = (too_few + enough) / 2;
    const TriedLayers some = tried(first_layers(middle, most));
    (some.fits ? enough : too_few) = middle;
    if (some.fits && some.step <= best.step) best = some;
  }
  if (const TriedLayers read = tried("convolutions");
      read.fits && (!best.fits || read.step < best.step))
    best = read;
  choose(best);
}

}  // namespace trainyard
