#include "app/workspace/plans/plan_openings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/methods/settings/settings.h"
#include "planners/plans/exact_price.h"

namespace trainyard {
namespace {

struct Least {
  PlanId id = 0;
  ExactPrice price;
};

// Finds the plan with least memory by the whole closed form. A search's figures may be lower
// bounds, so plans are priced in ascending order until no bound is below the least found.
std::optional<Least> least_memory(const PlanSpace& space, const SearchResult& found,
                                  const SearchOptions& options) {
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < found.plans.size(); ++i)
    if (found.plans[i].fate == Fate::Memory) large.push_back(i);
  std::stable_sort(large.begin(), large.end(), [&](std::size_t a, std::size_t b) {
    return found.plans[a].memory < found.plans[b].memory;
  });
  constexpr std::size_t kMostPriced = 1000;
  std::optional<Least> least;
  for (std::size_t i = 0; i < std::min(large.size(), kMostPriced); ++i) {
    if (least && found.plans[large[i]].memory >= least->price.memory) break;
    const Scenario scenario = space.scenario(found.ids[large[i]]);
    ExactPrice price = exact_price(scenario, *options.cost(scenario));
    if (price.illegal != Fate::Untried) continue;
    if (!least || price.memory < least->price.memory)
      least = Least{found.ids[large[i]], std::move(price)};
  }
  return least;
}

class Openings {
 public:
  Openings(const PlanSpace& space, const SearchOptions& options, const Scenario& least)
      : space_(space), options_(options), least_(least) {}

  std::vector<Opening> all() {
    // Settings that free memory without changing the training come first, then those that change
    // its numerics.
    for (const char* key : {"recompute", "zero", "sequence-parallel", "micro-batch", "tp", "pp",
                            "cp", "ep", "etp", "virtual-stages", "schedule", "offload",
                            "flash-attention", "gradient-dtype", "precision", "optimizer"})
      open_knob(key);
    for (const std::int64_t times : {2, 4, 8, 16}) add_devices(times);
    std::stable_sort(found_.begin(), found_.end(), [](const Opening& a, const Opening& b) {
      if (a.fits != b.fits) return a.fits;
      return a.fits ? a.step < b.step : a.memory < b.memory;
    });
    constexpr std::size_t kShown = 6;
    if (found_.size() > kShown) found_.resize(kShown);
    return std::move(found_);
  }

 private:
  // The values that the knob could have but the space does not include.
  std::vector<std::string> values_beyond(const std::string& key) const {
    std::vector<std::string> values = default_values(space_.base(), key);
    const Setting* known = find_setting(key);
    if (known != nullptr)
      for (const std::string_view value : known->values) values.emplace_back(value);
    const std::size_t k = space_.knob(key);
    std::erase_if(values, [&](const std::string& value) {
      if (value.empty() || value == setting(least_.plan, key)) return true;
      if (k == space_.knobs().size()) return false;
      const std::vector<std::string>& has = space_.knobs()[k].values;
      return std::find(has.begin(), has.end(), value) != has.end();
    });
    return values;
  }

  void open_knob(const std::string& key) {
    const Setting* known = find_setting(key);
    if (known == nullptr) return;
    std::optional<Opening> best;
    for (const std::string& value : values_beyond(key)) {
      Scenario changed = least_;
      changed.plan.mesh.dp.reset();
      try {
        apply_setting(changed.plan, key, value, {"opening"});
      } catch (const Error&) {
        continue;  // not a legal value for this plan
      }
      consider(best, changed, fmt::format("--bound {}=any", key), key + "=" + value);
    }
    keep(best);
  }

  void add_devices(std::int64_t times) {
    Scenario larger = least_;
    larger.cluster.count *= times;
    if (larger.cluster.count > kMostDevices) return;
    larger.cluster.levels.back().size =
        std::max(larger.cluster.levels.back().size, larger.cluster.count);
    std::optional<Opening> best;
    const std::string flag = fmt::format("a --cluster of {} devices", larger.cluster.count);
    for (const char* key : {"dp", "pp", "tp"}) {
      Scenario changed = larger;
      Mesh& mesh = changed.plan.mesh;
      mesh.dp.reset();
      std::string words = fmt::format("dp x {}", times);
      if (std::string_view(key) != "dp") {
        int& degree = std::string_view(key) == "pp" ? mesh.pp : mesh.tp;
        degree *= static_cast<int>(times);
        words = fmt::format("{}={}", key, degree);
      }
      consider(best, changed, flag, words);
    }
    keep(best);
  }

  void consider(std::optional<Opening>& best, const Scenario& changed, const std::string& flag,
                const std::string& words) const {
    const ExactPrice price = exact_price(changed, *options_.cost(changed));
    if (price.illegal != Fate::Untried) return;
    const Bytes margin = memory_limit(changed, price.device, options_.spare) - price.memory;
    const Opening one{flag, words, margin.value >= 0, price.memory, margin, price.step};
    if (!best || (one.fits != best->fits ? one.fits
                  : one.fits             ? one.step < best->step
                                         : one.memory < best->memory))
      best = one;
  }

  // Keeps an opening only if it frees memory.
  void keep(const std::optional<Opening>& best) {
    if (!best) return;
    const ExactPrice now = exact_price(least_, *options_.cost(least_));
    if (best->fits || best->memory < now.memory) found_.push_back(*best);
  }

  const PlanSpace& space_;
  const SearchOptions& options_;
  const Scenario least_;
  std::vector<Opening> found_;
};

}  // namespace

NoPlan no_plan(const PlanSpace& space, const SearchResult& found, const SearchOptions& options) {
  NoPlan none;
  if (const auto least = least_memory(space, found, options)) {
    none.least = least->id;
    none.memory = least->price.memory;
    const Scenario scenario = space.scenario(least->id);
    none.over = none.memory - memory_limit(scenario, least->price.device, options.spare);
    none.reason = explain(space, found, least->id, options);
    none.openings = Openings(space, options, scenario).all();
    return none;
  }
  std::size_t common = 0;
  for (std::size_t f = 1; f < static_cast<std::size_t>(Fate::Memory); ++f)
    if (found.fates[f] > found.fates[common] || common == 0) common = f;
  for (std::size_t i = 0; i < found.ids.size(); ++i)
    if (static_cast<std::size_t>(found.plans[i].fate) == common) {
      none.reason = explain(space, found, found.ids[i], options);
      break;
    }
  return none;
}

}  // namespace trainyard
