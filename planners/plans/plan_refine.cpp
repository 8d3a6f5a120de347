#include "planners/plans/plan_refine.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/cluster/mixed.h"
#include "core/methods/settings/settings.h"
#include "planners/partition/balanced_split.h"
#include "planners/plans/cost_models.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/threads.h"
#include "planners/recompute/recompute_plan.h"

namespace trainyard {
namespace {

const std::string kWaves = "tick-tock";

class Refiner {
 public:
  Refiner(const PlanSpace& space, const SearchResult& found, const SearchOptions& options)
      : space_(space), found_(found), options_(options), costs_(options.cost) {}

  std::vector<RefinedPlan> run(std::size_t most) {
    const std::vector<PlanId> from = starts(most);
    std::vector<std::optional<RefinedPlan>> made(2 * from.size());
    tbb::task_arena arena(threads_at_once(options_.threads));
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, made.size(), [&](std::size_t i) {
        if (options_.stop.stop_requested()) return;
        const PlanId id = from[i / 2];
        made[i] = i % 2 == 0 ? refined(id) : in_waves(id);
      });
    });
    std::vector<RefinedPlan> kept;
    for (std::optional<RefinedPlan>& one : made)
      if (one && one->time() < best()) kept.push_back(std::move(*one));
    std::stable_sort(kept.begin(), kept.end(), [](const RefinedPlan& a, const RefinedPlan& b) {
      return a.time() < b.time();
    });
    return kept;
  }

 private:
  Duration best() const {
    return found_.best.empty() ? Duration::max() : found_.best.front().time();
  }

  // Half of the starts are the best plans found, half are plans that only lack memory.
  std::vector<PlanId> starts(std::size_t most) const {
    std::vector<PlanId> ids;
    for (const Candidate& c : found_.best)
      if (ids.size() < (most + 1) / 2) ids.push_back(c.id);
    for (const PlanId id : too_large(most - std::min(most, ids.size()))) ids.push_back(id);
    return ids;
  }

  // The plans that only lack memory, fastest first by their bounds.
  std::vector<PlanId> too_large(std::size_t most) const {
    const std::size_t knob = space_.knob("recompute");
    const std::vector<std::string>& policies = space_.knobs()[knob].values;
    const auto digit_of = [&](std::string_view policy) {
      return static_cast<std::uint32_t>(std::find(policies.begin(), policies.end(), policy) -
                                        policies.begin());
    };
    const std::uint32_t none = digit_of("none"), full = digit_of("full");
    if (none == policies.size() || full == policies.size()) return {};
    std::vector<std::pair<Duration, PlanId>> found;
    for (std::size_t i = 0; i < found_.ids.size(); ++i) {
      const PricedPlan& plan = found_.plans[i];
      if (plan.fate != Fate::Memory || plan.step >= best() ||
          space_.digit(found_.ids[i], knob) != none)
        continue;
      const PlanId other = found_.ids[i] + space_.stride(knob) * full - space_.stride(knob) * none;
      const PricedPlan* least = found_.find(other);
      if (least != nullptr && fits(least->fate)) found.emplace_back(plan.step, found_.ids[i]);
    }
    std::sort(found.begin(), found.end());
    std::vector<PlanId> ids;
    for (std::size_t i = 0; i < found.size() && ids.size() < most; ++i)
      if (i == 0 || found[i].first != found[i - 1].first) ids.push_back(found[i].second);
    return ids;
  }

  std::optional<RefinedPlan> refined(PlanId id) {
    Scenario s = space_.scenario(id);
    const CostModel& cost = costs_.of(s);
    RefinedPlan made;
    made.from = id;
    try {
      mix_recomputation(s, cost, made);
      split_by_cost(s, cost, made);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::InvalidInput && e.kind() != Error::Kind::Cancelled) throw;
      return std::nullopt;  // nothing fits, or the schedule does not support such a split
    }
    if (made.changes.empty()) return std::nullopt;
    const ExactPrice price = exact_price(s, cost);
    if (!keeps_within(s, price)) return std::nullopt;
    made.step = price.step, made.memory = price.memory, made.plan = s.plan;
    if (!options_.simulator) return made;
    const SimulatedPlan simulated = options_.simulator(s);
    if (simulated.memory > memory_limit(s, simulated.device, options_.spare)) return std::nullopt;
    made.simulated = simulated.step;
    return made;
  }

  // Runs the microbatches of one device as waves that share it, where the search may choose them.
  // The closed form knows no offset within a phase, so only a simulation says what they hold.
  std::optional<RefinedPlan> in_waves(PlanId id) {
    const std::vector<std::string>& schedules = space_.knobs()[space_.knob("schedule")].values;
    Scenario s = space_.scenario(id);
    if (!options_.simulator || s.plan.mesh.pp > 1 ||
        std::find(schedules.begin(), schedules.end(), kWaves) == schedules.end())
      return std::nullopt;
    RefinedPlan made;
    made.from = id;
    change(s, "schedule", kWaves, made);
    if (made.changes.empty() || has_errors(check(s))) return std::nullopt;
    const SimulatedPlan simulated = options_.simulator(s);
    if (simulated.step <= Duration{} || simulated.memory > memory_limit(s.cluster, options_.spare))
      return std::nullopt;
    made.step = exact_price(s, costs_.of(s)).step;
    made.simulated = simulated.step, made.memory = simulated.memory, made.plan = s.plan;
    return made;
  }

  bool keeps_within(const Scenario& s, const ExactPrice& price) const {
    return price.illegal == Fate::Untried &&
           price.memory <= memory_limit(s, price.device, options_.spare);
  }

  void mix_recomputation(Scenario& s, const CostModel& cost, RefinedPlan& made) const {
    const std::string kept = setting(s.plan, "offload");
    // optimal_recompute() refuses these.
    if (kept == "activations" || kept == "both" || !treats_layers_alike(s) || is_mixed(s.cluster))
      return;
    RecomputeOptions by;
    by.limit = memory_limit(s.cluster, options_.spare), by.stop = options_.stop;
    const RecomputeChoice choice = optimal_recompute(s, cost, by);
    change(s, "recompute", choice.text, made);
  }

  // Splits layers by cost if a split that fits is faster than the plan's own.
  void split_by_cost(Scenario& s, const CostModel& cost, RefinedPlan& made) const {
    if (s.plan.mesh.pp == 1) return;
    const ExactPrice before = exact_price(s, cost);
    Scenario other = s;
    other.plan.split = balance(s, cost).split;
    const ExactPrice after = exact_price(other, cost);
    if (!keeps_within(other, after)) return;
    if (!keeps_within(s, before) || after.step < before.step)
      change(s, "split", setting(other.plan, "split"), made);
  }

  static void change(Scenario& s, const std::string& key, const std::string& value,
                     RefinedPlan& made) {
    if (setting(s.plan, key) == value) return;
    apply_setting(s.plan, key, value, {"search"});
    made.changes.push_back(key + "=" + value);
  }

  const PlanSpace& space_;
  const SearchResult& found_;
  const SearchOptions& options_;
  CostModels costs_;
};

}  // namespace

std::vector<RefinedPlan> refine(const PlanSpace& space, const SearchResult& found,
                                const SearchOptions& options, std::size_t starts) {
  return Refiner(space, found, options).run(starts);
}

}  // namespace trainyard
