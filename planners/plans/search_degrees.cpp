#include "planners/plans/search_degrees.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/error.h"
#include "core/cost/physical.h"
#include "core/methods/settings/settings.h"
#include "planners/plans/plan_figures.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 8> kDegreeKnobs = {
    "tp", "cp", "ep", "etp", "pp", "dp", "micro-batch", "virtual-stages"};

// A plan as far as two of them are compared.
struct Contender {
  Scenario scenario;
  Duration step{};
  Bytes memory{};  // reserved on the fullest device
  bool fits = false;
};

bool better(const Contender& a, const Contender& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step < b.step : a.memory < b.memory;
}

// Its own plan; nothing where it is not legal on this cluster.
std::optional<Contender> own_plan(const Scenario& scenario, const SearchOptions& options) {
  Diagnostics found;
  const Workload workload = prepare(Scenario(scenario), found);
  if (has_errors(found)) return std::nullopt;
  const std::unique_ptr<CostModel> cost =
      options.cost ? options.cost(workload.scenario) : physical_cost_model(workload.scenario);
  const PlanFigures figures = figures_of(workload, *cost);
  return Contender{scenario, figures.step, figures.reserved, figures.margin >= options.spare};
}

std::optional<Contender> best_of(const PlanSpace& space, const SearchResult& found) {
  if (!found.best.empty()) {
    const Candidate& best = found.best.front();
    return Contender{space.scenario(best.id), best.step, best.memory, true};
  }
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < found.ids.size(); ++i)
    if (found.plans[i].fate == Fate::Memory &&
        (!least || found.plans[i].memory < found.plans[*least].memory))
      least = i;
  if (!least) return std::nullopt;
  const PricedPlan& plan = found.plans[*least];
  return Contender{space.scenario(found.ids[*least]), plan.step, plan.memory, false};
}

}  // namespace

std::span<const std::string_view> degree_knobs() { return kDegreeKnobs; }

PlanSpace degree_space(const Scenario& scenario, std::span<const Bound> bounds) {
  Scenario base = scenario;
  if (base.plan.batch.global == 0) base.plan.batch = complete(scenario).batch;
  // The degrees may be more than the devices. An edited split or order belongs to one mesh.
  base.plan.mesh = {};
  base.plan.mesh.order = scenario.plan.mesh.order;
  base.plan.split = {};
  base.plan.order.clear();
  std::vector<std::string> fixed;
  for (const std::string_view key : knob_keys()) {
    const bool bound = std::any_of(bounds.begin(), bounds.end(), [&](const Bound& b) {
      const Setting* known = find_setting(b.key);
      return (known != nullptr ? known->key : std::string_view(b.key)) == key;
    });
    if (!bound && key != "devices" &&
        std::find(kDegreeKnobs.begin(), kDegreeKnobs.end(), key) == kDegreeKnobs.end())
      fixed.emplace_back(key);
  }
  return PlanSpace(base, fixed, bounds);
}

Scenario search_degrees(const Scenario& scenario, std::span<const Bound> bounds,
                        SearchOptions options) {
  options.objective = PlanObjective::Time;
  options.top = 1;
  options.simulate = 0;
  const PlanSpace space = degree_space(scenario, bounds);
  const SearchResult found = search(space, options);
  if (found.stopped) throw Error(Error::Kind::Cancelled, "the search was stopped");
  const std::optional<Contender> own = own_plan(scenario, options), best = best_of(space, found);
  if (own && (!best || !better(*best, *own))) return own->scenario;
  if (best) return best->scenario;
  if (found.ids.empty()) refuse("devices", "no plan has degrees that multiply to these devices");
  throw Error(Error::Kind::InvalidInput,
              "no plan is legal: " + explain(space, found, found.ids.front(), options).sentence);
}

}  // namespace trainyard
