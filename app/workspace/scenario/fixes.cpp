#include "app/workspace/scenario/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/workspace/scenario/closed_form.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/estimate/estimate.h"
#include "core/result/verdict.h"

namespace trainyard {
namespace {

// The limit on simulated instructions for fixes, beyond the run itself: a fifth of a second on one
// core.
constexpr std::size_t kInstructionBudget = 400'000;
constexpr std::size_t kMostSimulatedFixes = 6;
constexpr std::size_t kShown = 3;
// The least share of the step that a gain saves: less than it would be shown as nothing.
constexpr double kLeastGain = 0.005;

// How changes are priced.
struct Pricing {
  const CostModel* cost;  // null = cost_model(scenario)
  std::stop_token stop;
};

struct Change {
  std::string words;
  Scenario scenario;
  Duration step{};  // by the closed form
  Bytes peak{};     // on its worst device
};

// The scenario with the words applied; empty if they are not legal in it.
std::optional<Change> changed(const Scenario& scenario, const Plan& complete,
                              const std::string& words, const Pricing& by) {
  Change change{words, scenario};
  Plan& plan = change.scenario.plan;
  plan.batch.global = complete.batch.global;
  plan.batch.sequence = complete.batch.sequence;
  try {
    apply_words(plan, words);
    if (has_errors(check(change.scenario))) return std::nullopt;
    const Result guess = estimate(change.scenario, by.cost);
    change.step = guess.step.value;
    change.peak = worst_peak(guess);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::Cancelled) throw;
    return std::nullopt;  // the change does not apply to this plan
  }
  return change;
}

std::string sentence(const Fix& fix, const Experiment& before, const Experiment& after) {
  const bool less = fix.saves.value >= 0, slower = fix.costs >= 0;
  const Verdict& verdict = before.result.verdict;
  std::string text = fmt::format("{}: {} {} on device {}, {} {:.1f} % of the step", fix.set,
                                 less ? "frees" : "takes", readable(less ? fix.saves : -fix.saves),
                                 verdict.worst_device.value, slower ? "costs" : "saves",
                                 100.0 * (slower ? fix.costs : -fix.costs));
  if (!fix.fits) text += fmt::format("; still {} over", readable(-after.result.verdict.margin));
  return text;
}

Fix price_change(const Change& change, const Experiment& before, const Pricing& by) {
  const std::shared_ptr<Experiment> after = run_once(
      change.scenario, {.grain = natural_grain(change.scenario), .cost = by.cost, .stop = by.stop});
  const Result& now = after->result;
  Fix fix;
  fix.set = change.words;
  fix.peak = worst_peak(now);
  fix.step = now.step.value;
  fix.saves = worst_peak(before.result) - fix.peak;
  fix.costs = static_cast<double>((fix.step - before.result.step.value).count()) /
              static_cast<double>(std::max<std::int64_t>(1, before.result.step.value.count()));
  fix.fits = now.verdict.fits;
  fix.sentence = sentence(fix, before, *after);
  return fix;
}

using Changes = std::vector<Change>;

// Orders changes that fit first, fastest first; then the others by memory.
void rank_fixes(Changes& changes, Bytes capacity) {
  std::stable_sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) {
    const bool a_fits = a.peak <= capacity, b_fits = b.peak <= capacity;
    if (a_fits != b_fits) return a_fits;
    return a_fits ? a.step < b.step : a.peak < b.peak;
  });
}

std::vector<Fix> simulate_all(const Changes& changes, const Experiment& before, const Pricing& by) {
  std::vector<Fix> fixes;
  const std::size_t each = std::max<std::size_t>(1, before.program.instructions.size());
  const std::size_t affordable =
      std::clamp<std::size_t>(kInstructionBudget / each, 1, kMostSimulatedFixes);
  for (const Change& change : changes) {
    if (fixes.size() == affordable) break;
    try {
      fixes.push_back(price_change(change, before, by));
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::InvalidInput)
        throw;  // otherwise the changed run is too large to simulate
    }
  }
  return fixes;
}

// Pairs of the changes that free most memory, for plans that no single change makes fit.
Changes pairs(const Scenario& scenario, const Plan& complete, const Changes& singles,
              const Pricing& by) {
  Changes found;
  const std::size_t few = std::min<std::size_t>(4, singles.size());
  const auto key = [](const std::string& words) { return words.substr(0, words.find('=')); };
  for (std::size_t a = 0; a < few; ++a)
    for (std::size_t b = a + 1; b < few; ++b) {
      if (key(singles[a].words) == key(singles[b].words)) continue;
      if (auto both = changed(scenario, complete, singles[a].words + " " + singles[b].words, by))
        found.push_back(*both);
    }
  return found;
}

bool fits_in(const Changes& changes, Bytes capacity) {
  return std::any_of(changes.begin(), changes.end(),
                     [&](const Change& c) { return c.peak <= capacity; });
}

void keep_cheapest(std::vector<Fix>& fixes) {
  std::stable_sort(fixes.begin(), fixes.end(), [](const Fix& a, const Fix& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits ? a.step < b.step : a.peak < b.peak;
  });
  const bool any = !fixes.empty() && fixes.front().fits;
  fixes.erase(std::remove_if(fixes.begin(), fixes.end(),
                             [&](const Fix& f) { return any ? !f.fits : f.saves.value <= 0; }),
              fixes.end());
  if (fixes.size() > kShown) fixes.resize(kShown);
}

void price_fixes(const Scenario& scenario, Experiment& experiment, Changes changes,
                 const Pricing& by) {
  const Plan& complete = experiment.workload.scenario.plan;
  const Bytes capacity = experiment.result.capacity;
  rank_fixes(changes, capacity);
  if (!fits_in(changes, capacity)) {
    Changes both = pairs(scenario, complete, changes, by);
    rank_fixes(both, capacity);
    if (fits_in(both, capacity)) changes = std::move(both);
  }
  experiment.result.verdict.fixes = simulate_all(changes, experiment, by);
  keep_cheapest(experiment.result.verdict.fixes);
}

void price_gain(Experiment& experiment, Changes changes, const Pricing& by) {
  const Bytes capacity = experiment.result.capacity;
  changes.erase(std::remove_if(changes.begin(), changes.end(),
                               [&](const Change& c) { return c.peak > capacity; }),
                changes.end());
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.step < b.step; });
  if (changes.size() > kShown) changes.resize(kShown, changes.front());
  std::optional<Fix>& gain = experiment.result.verdict.gain;
  for (Fix& fix : simulate_all(changes, experiment, by))
    if (fix.fits && fix.costs <= -kLeastGain && (!gain || fix.step < gain->step))
      gain = std::move(fix);
}

}  // namespace

void price_changes(const Scenario& scenario, Experiment& experiment, const CostModel* cost,
                   std::stop_token stop) {
  const Pricing by{cost, std::move(stop)};
  const bool fits = experiment.result.verdict.fits;
  const Plan& complete = experiment.workload.scenario.plan;
  Changes changes;
  for (const std::string& words : candidate_changes(experiment.workload, fits))
    if (auto change = changed(scenario, complete, words, by)) changes.push_back(*std::move(change));
  if (fits)
    price_gain(experiment, std::move(changes), by);
  else
    price_fixes(scenario, experiment, std::move(changes), by);
}

}  // namespace trainyard
