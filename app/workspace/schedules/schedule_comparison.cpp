#include "app/workspace/schedules/schedule_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/units_text.h"
#include "core/estimate/estimate.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "visualizers/drawing/in_parallel.h"

namespace trainyard {
namespace {

constexpr int kMostSimulated = 3;  // of those that fit by the closed form
constexpr int kVirtualStages[] = {1, 2, 4};

/// The plan with one schedule and one value of every knob.
struct Variant {
  Scenario scenario;
  std::string changed;
  int changes = 0;
  Duration step{};  // by the closed form
  Bytes peak{};     // on its worst device
};

std::vector<std::string> values(const std::string& own, std::vector<std::string> others) {
  std::vector<std::string> list = {own};
  for (std::string& other : others)
    if (std::find(list.begin(), list.end(), other) == list.end()) list.push_back(std::move(other));
  return list;
}

std::vector<std::string> micro_batches(const Plan& plan) {
  const std::int64_t own = plan.batch.micro;
  std::vector<std::string> others = {std::to_string(2 * own)};
  if (own % 2 == 0) others.push_back(std::to_string(own / 2));
  return values(std::to_string(own), std::move(others));
}

std::vector<std::string> virtual_stages(const Plan& plan) {
  std::vector<std::string> others;
  for (const int v : kVirtualStages) others.push_back(std::to_string(v));
  return values(std::to_string(plan.virtual_stages), std::move(others));
}

class Comparer {
 public:
  /// The scenario's plan must be complete and its devices must have the budget's memory.
  Comparer(const Scenario& scenario, std::stop_token stop)
      : scenario_(scenario), stop_(std::move(stop)) {}

  ComparedSchedule run(const Method& schedule) const {
    ComparedSchedule found;
    found.name = schedule.name;
    found.asynchronous = static_cast<bool>(schedule.settles);
    std::vector<Variant> variants = legal_variants(schedule, found.why_not);
    found.legal = !variants.empty();
    if (!found.legal) return found;
    found.why_not.clear();
    rank(variants);
    simulate_best(variants, found);
    return found;
  }

  /// Runs the plan unchanged, in its own order.
  ComparedSchedule run_own_order() const {
    ComparedSchedule found;
    found.name = schedule_of(scenario_.plan).name;
    found.own_order = true;
    const Diagnostics wrong = check(scenario_);
    found.legal = !has_errors(wrong);
    found.why_not = errors(wrong).second;
    if (found.legal) simulate_best({{scenario_, "", 0, {}, {}}}, found);
    return found;
  }

 private:
  Bytes budget() const { return scenario_.cluster.device.memory.value; }

  std::vector<Variant> legal_variants(const Method& schedule, std::string& why_not) const {
    const Plan& plan = scenario_.plan;
    std::vector<Variant> list;
    std::size_t fewest = 0;
    for (const std::string& chunks : virtual_stages(plan))
      for (const std::string& micro : micro_batches(plan))
        for (const std::string& recompute :
             values(setting(plan, "recompute"), {"none", "selective", "full"})) {
          Variant variant{scenario_, "", 0, {}, {}};
          variant.scenario.plan.order.clear();  // each schedule runs its own order
          apply_setting(variant.scenario.plan, "schedule", schedule.name);
          change(variant, "virtual-stages", chunks);
          change(variant, "micro-batch", micro);
          change(variant, "recompute", recompute);
          const Diagnostics wrong = check(variant.scenario);
          if (!has_errors(wrong)) {
            list.push_back(std::move(variant));
          } else if (const auto [count, first] = errors(wrong); fewest == 0 || count < fewest) {
            fewest = count;
            why_not = first;
          }
        }
    return list;
  }

  void change(Variant& variant, std::string_view key, const std::string& value) const {
    if (setting(scenario_.plan, key) == value) return;
    apply_setting(variant.scenario.plan, key, value);
    variant.changed += fmt::format("{}{}={}", variant.changes++ == 0 ? "" : " ", key, value);
  }

  static std::pair<std::size_t, std::string> errors(const Diagnostics& list) {
    std::size_t count = 0;
    std::string first;
    for (const Diagnostic& d : list)
      if (d.severity == Diagnostic::Severity::Error && count++ == 0) first = d.message;
    return {count, first};
  }

  // Orders variants that fit first, fastest first, and the others by memory; among equals, the one
  // with the fewest changes wins.
  void rank(std::vector<Variant>& variants) const {
    for (Variant& variant : variants) {
      const Result guess = estimate(variant.scenario);
      variant.step = guess.step.value;
      variant.peak = worst_peak(guess);
    }
    const auto key = [&](const Variant& v) {
      const bool fits = v.peak <= budget();
      return std::tuple(!fits, fits ? v.step.count() : v.peak.value, v.changes);
    };
    std::stable_sort(variants.begin(), variants.end(),
                     [&](const Variant& a, const Variant& b) { return key(a) < key(b); });
  }

  // The closed form chooses what is simulated; the simulation decides.
  void simulate_best(const std::vector<Variant>& variants, ComparedSchedule& found) const {
    for (const Variant& variant : variants) {
      if (found.fits && (found.tried >= kMostSimulated || variant.peak > budget())) return;
      const std::shared_ptr<Experiment> run =
          run_once(variant.scenario, {.grain = natural_grain(variant.scenario), .stop = stop_});
      ++found.tried;
      const Bytes peak = worst_peak(run->result);
      const bool fits = run->result.verdict.fits;
      const bool better =
          found.experiment == nullptr || (fits && !found.fits) ||
          (fits == found.fits && (fits ? run->result.step.value < found.step : peak < found.peak));
      if (!better) continue;
      found.experiment = run;
      found.fits = fits;
      found.changed = variant.changed;
      found.step = run->result.step.value;
      found.bubble = run->result.bubble_fraction;
      found.peak = peak;
    }
    if (!found.fits)
      found.why_not =
          fmt::format("no variant fits: {} over at least", readable(found.peak - budget()));
  }

  const Scenario& scenario_;
  std::stop_token stop_;
};

std::vector<const Method*> chosen_schedules(const std::vector<std::string>& names) {
  std::vector<const Method*> list;
  for (const std::string& name : names) {
    const Method& found = method(name);
    if (found.axis != MethodAxis::Schedule)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected a schedule, found \"{}\", a method of {}", name,
                              to_string(found.axis)),
                  {"--schedule"});
    if (std::find(list.begin(), list.end(), &found) == list.end()) list.push_back(&found);
  }
  if (names.empty())
    for (const Method& each : methods())
      if (each.axis == MethodAxis::Schedule) list.push_back(&each);
  return list;
}

}  // namespace

std::string_view comparison_knobs() {
  return "virtual stages 1, 2, 4 and the plan's; micro-batch half, same and double; recompute "
         "none, selective and full";
}

ScheduleComparison compare_schedules(const Scenario& scenario, const ComparisonRequest& request) {
  const std::vector<const Method*> schedules = chosen_schedules(request.schedules);
  Scenario base = scenario;
  base.plan = complete(scenario);
  if (request.budget.value < 0)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a budget above 0, found {}", readable(request.budget)),
                {"budget"});
  if (request.budget.value > 0) base.cluster.device.memory.value = request.budget;
  ScheduleComparison comparison;
  comparison.budget = base.cluster.device.memory.value;
  comparison.global_batch = base.plan.batch.global;
  comparison.sequence = base.plan.batch.sequence;
  const Comparer comparer(base, request.stop);
  const std::size_t own = base.plan.order.empty() ? 0 : 1;
  comparison.schedules.resize(own + schedules.size());
  in_parallel(comparison.schedules.size(), [&](std::size_t i) {
    comparison.schedules[i] =
        i < own ? comparer.run_own_order() : comparer.run(*schedules[i - own]);
  });
  for (ComparedSchedule& made : comparison.schedules) {
    if (made.experiment == nullptr) continue;
    const std::optional<Asynchrony>& stale = made.experiment->result.asynchrony;
    made.asynchronous = stale.has_value();
    if (!stale) continue;
    made.tokens = fmt::format("{:.2f} times the tokens", stale->token_overhead.value);
    made.staleness = stale->sentence;
  }
  return comparison;
}

}  // namespace trainyard
