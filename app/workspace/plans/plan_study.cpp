#include "app/workspace/plans/plan_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "app/workspace/scenario/recompute.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/documents/plan_json.h"
#include "core/methods/settings/settings.h"
#include "core/result/figures.h"
#include "core/timeline/compare.h"
#include "planners/partition/balanced_split.h"

namespace trainyard {
namespace {

std::string identity(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  const std::optional<Sourced<double>>& price = cluster.device.price_low;
  return fmt::format("{}\n{}\n{}\n{}", cluster.name, cluster.count,
                     price ? to_text(price->value) : "", plan_document(scenario.plan));
}

void add_part(Waterfall& fall, std::string_view name, std::int64_t mine, std::int64_t theirs) {
  fall.mine += mine, fall.theirs += theirs;
  if (mine != 0 || theirs != 0) fall.parts.push_back({std::string(name), mine, theirs});
}

void most_first(Waterfall& fall) {
  std::stable_sort(fall.parts.begin(), fall.parts.end(),
                   [](const CausePart& a, const CausePart& b) {
                     return std::abs(a.difference()) > std::abs(b.difference());
                   });
}

// The winner or, if nothing fits, the plan that needs least memory.
PlanId most_promising(const SearchResult& found) {
  if (!found.best.empty()) return found.best.front().id;
  std::size_t least = 0;
  const auto rank = [&](std::size_t i) {
    return found.plans[i].fate == Fate::Memory ? found.plans[i].memory.value : INT64_MAX;
  };
  for (std::size_t i = 1; i < found.ids.size(); ++i)
    if (rank(i) < rank(least)) least = i;
  return found.ids[least];
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

}  // namespace

std::vector<std::string> setting_keys(const std::vector<std::string>& settings) {
  std::vector<std::string> keys;
  for (const std::string& words : settings)
    for (const std::string_view word : each_word(words)) {
      // A parameter of a method is no knob, since it belongs to every plan.
      const Setting* known = find_setting(word.substr(0, word.find('=')));
      if (known != nullptr && std::find(keys.begin(), keys.end(), known->key) == keys.end())
        keys.emplace_back(known->key);
    }
  return keys;
}

namespace {

// A search has no plan yet whose recomputation could be chosen: recompute=optimal leaves the knob
// to the search, which tries every policy and mixes them on the best plans (refine()).
std::vector<std::string> without_optimal(const std::vector<std::string>& settings) {
  std::vector<std::string> kept;
  for (const std::string& words : settings) {
    const RecomputeWords split = split_recompute_words(words);
    if (split.budget)
      throw Error(
          Error::Kind::InvalidInput,
          "expected recompute=optimal (a search takes its budget from --spare, which is what "
          "stays free of each device), found a budget of " +
              to_text(*split.budget),
          {"--set recompute"});
    if (!split.said)
      kept.push_back(words);
    else if (!split.others.empty())
      kept.push_back(split.others);
  }
  return kept;
}

// The same among the values of a bound: none,optimal are none and whatever refine() makes of it.
std::vector<Bound> without_optimal(std::vector<Bound> bounds) {
  for (Bound& bound : bounds) {
    const Setting* known = find_setting(bound.key);
    if (known == nullptr || known->key != "recompute") continue;
    std::string others;
    for (std::size_t from = 0; from <= bound.values.size();) {
      const std::size_t end = std::min(bound.values.find(',', from), bound.values.size());
      if (const std::string value = bound.values.substr(from, end - from); value != "optimal")
        others += (others.empty() ? "" : ",") + value;
      from = end + 1;
    }
    if (others != bound.values) bound.values = others.empty() ? "any" : others;
  }
  return bounds;
}

}  // namespace

PlanSpace open_space(const PlanQuestion& question) {
  Request request = question.request;
  request.calibration = question.calibration;
  request.settings = without_optimal(request.settings);
  Scenario base = open(request);
  if (!question.calibration.empty()) open_cost_model(question.calibration, base);
  PlanSpace space(base, setting_keys(request.settings), without_optimal(question.bounds));
  space.weigh_stages_by([](const Scenario& s) { return weighted_split(s, *cost_model(s)); });
  return space;
}

SearchResult search_question(const PlanQuestion& question, PlanSpace& space,
                             const SearchOptions& options) {
  std::vector<std::string> keys = setting_keys(question.request.settings);
  for (const Bound& bound : question.bounds) {
    const Setting* const known = find_setting(bound.key);
    keys.emplace_back(known != nullptr ? known->key : std::string_view(bound.key));
  }
  const bool open = std::none_of(keys.begin(), keys.end(), [](const std::string& key) {
    return key == "offload" || key == kOffloadLayers;
  });
  return open ? search_offloading(space, options) : search(space, options);
}

void expect_searchable(const PlanSpace& space, const SearchOptions& options) {
  const Device& device = space.base().cluster.device;
  if (options.objective == PlanObjective::Money && (!device.price_low || !device.price_high))
    refuse_flag(
        "objective",
        fmt::format("nobody's price of {} is known; time and memory can be asked", device.id));
  if (options.spare >= device.memory.value)
    refuse_flag("spare", fmt::format("expected less than the {} that a device has, found {}",
                                     readable(device.memory.value), readable(options.spare)));
}

std::vector<std::string> whole_words(const PlanQuestion& question, const PlanSpace& space,
                                     PlanId id) {
  std::vector<std::string> words = without_optimal(question.request.settings);
  const Plan& base = space.base().plan;
  for (std::size_t k = 0; k < space.knobs().size(); ++k) {
    const std::string& key = space.knobs()[k].key;
    const std::string& value = space.value(id, k);
    if (key != "devices" && !value.empty() && value != setting(base, key))
      words.push_back(key + "=" + value);
  }
  if (base.split.layers.empty())
    if (const Plan whole = space.plan(id); !whole.split.layers.empty())
      words.push_back("split=" + setting(whole, "split"));
  return words;
}

PlanPrices::PlanPrices(const std::string& calibration) {
  if (!calibration.empty()) calibration_ = open_measured_prices(calibration);
}

std::unique_ptr<CostModel> PlanPrices::cost(const Scenario& scenario) const {
  if (!calibration_) return cost_model(scenario);
  Scenario own = scenario;
  return priced_by(*calibration_, own);
}

void PlanPrices::equip(SearchOptions& options) {
  options.cost = [this](const Scenario& s) { return cost(s); };
  options.simulator = [this, stop = options.stop](const Scenario& s) -> SimulatedPlan {
    try {
      const Result result = simulated(s, stop);
      return {result.step.value, reserved(result),
              static_cast<std::uint16_t>(result.verdict.worst_device.value)};
    } catch (const Error& error) {
      // The scenario is too large to simulate, or the search was stopped; the closed form's result
      // stands.
      if (error.kind() == Error::Kind::InvalidInput || error.kind() == Error::Kind::Cancelled)
        return {};
      throw;
    }
  };
}

Result PlanPrices::simulated(const Scenario& scenario, std::stop_token stop) {
  const std::string key = identity(scenario);
  {
    const std::lock_guard guard(lock_);
    if (const auto known = simulated_.find(key); known != simulated_.end()) return known->second;
  }
  const std::unique_ptr<CostModel> by = cost(scenario);
  // A choice among plans is for all clusters of such devices, not for one that a seed draws.
  Scenario in_the_mean = scenario;
  if (Slowness& slow = in_the_mean.cluster.slowness; has_slow_devices(slow))
    slow.seed = kMeanOfDraws;
  Result result =
      run_once(in_the_mean,
               {.grain = natural_grain(scenario), .cost = by.get(), .stop = std::move(stop)})
          ->result;
  const std::lock_guard guard(lock_);
  return simulated_.insert({key, std::move(result)}).first->second;
}

Result PlanPrices::estimated(const Scenario& scenario) const {
  const std::unique_ptr<CostModel> by = cost(scenario);
  return estimate(scenario, calibration_ ? by.get() : nullptr);
}

Result PlanPrices::result(const PlanSpace& space, const Candidate& candidate) {
  const Scenario scenario = space.scenario(candidate.id);
  return candidate.simulated > Duration{} ? simulated(scenario, {}) : estimated(scenario);
}

std::size_t words_apart(const PlanSpace& space, PlanId a, PlanId b) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < space.knobs().size(); ++k)
    if (space.knobs()[k].values.size() > 1 && space.digit(a, k) != space.digit(b, k)) ++count;
  return count;
}

bool speaks(const PlanSpace& space, PlanId id, std::size_t knob) {
  const std::size_t values = space.knobs()[knob].values.size();
  if (values < 2) return false;
  // Other values of an idle knob describe the same plan in its canonical form.
  std::vector<std::uint32_t> other = space.digits(id);
  const std::vector<std::uint32_t> own = other;
  other[knob] = static_cast<std::uint32_t>((other[knob] + 1) % values);
  const auto form = space.canonical(other);
  return !form || *form != own;
}

std::string telling_words(const PlanSpace& space, PlanId id) {
  std::string text;
  for (std::size_t k = 0; k < space.knobs().size(); ++k)
    if (speaks(space, id, k))
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : " ", space.knobs()[k].key, space.value(id, k));
  return text;
}

std::string words_beside(const PlanSpace& space, PlanId id, PlanId other) {
  std::string text;
  for (std::size_t k = 0; k < space.knobs().size(); ++k)
    if (space.digit(id, k) != space.digit(other, k))
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : " ", space.knobs()[k].key, space.value(id, k));
  return text;
}

std::vector<FateSample> fate_samples(const PlanSpace& space, const SearchResult& found,
                                     const SearchOptions& options) {
  // A limit, because examining every plan of a large space would take longer than the search.
  constexpr std::uint64_t kLookedAt = 200'000;
  std::vector<FateSample> samples;
  if (found.ids.empty()) return samples;
  const PlanId centre = most_promising(found);
  std::array<std::uint64_t, kFates> seen{};
  std::array<std::optional<std::pair<std::size_t, PlanId>>, kFates> nearest{};
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    const auto fate = static_cast<std::size_t>(found.plans[i].fate);
    const std::uint64_t stride = 1 + found.fates[fate] / kLookedAt;
    if (seen[fate]++ % stride != 0) continue;
    const std::size_t apart = words_apart(space, found.ids[i], centre);
    if (!nearest[fate] || apart < nearest[fate]->first) nearest[fate] = {apart, found.ids[i]};
  }
  for (std::size_t f = kFates; f-- > 0;) {
    if (!nearest[f]) continue;
    FateSample sample{static_cast<Fate>(f), found.fates[f], nearest[f]->second, {}};
    if (sample.fate != Fate::Untried) sample.reason = explain(space, found, sample.id, options);
    samples.push_back(std::move(sample));
  }
  return samples;
}

Waterfall time_by_cause(const Result& mine, const Result& theirs) {
  Waterfall fall;
  for (const auto& [name, part] : breakdown_parts())
    add_part(fall, name, (mine.breakdown.*part).count(), (theirs.breakdown.*part).count());
  most_first(fall);
  return fall;
}

Waterfall bytes_by_cause(const Result& mine, const Result& theirs) {
  Waterfall fall;
  const StageMemory none, *a = fullest(mine), *b = fullest(theirs);
  if (a == nullptr) a = &none;
  if (b == nullptr) b = &none;
  for (std::size_t c = 0; c < a->categories.size(); ++c)
    add_part(fall, to_string(static_cast<Category>(c)), a->categories[c].value,
             b->categories[c].value);
  const auto beyond = [](const StageMemory& m) {
    return std::max(m.reserved, m.peak.value) - m.peak.value;
  };
  add_part(fall, "reserved beyond tensors", beyond(*a).value, beyond(*b).value);
  most_first(fall);
  return fall;
}

std::string plans_csv(const PlanSpace& space, const SearchResult& found) {
  std::vector<std::size_t> open;
  std::string text;
  for (std::size_t k = 0; k < space.knobs().size(); ++k)
    if (space.knobs()[k].values.size() > 1) {
      open.push_back(k);
      text += space.knobs()[k].key + ",";
    }
  text += "step_seconds,memory_bytes,figures,device,fate\n";
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    const PricedPlan& plan = found.plans[i];
    for (const std::size_t k : open) text += quoted(space.value(found.ids[i], k)) + ",";
    if (legal(plan.fate))
      text += fmt::format("{},{},{},{}", to_text(to_seconds(plan.step)), plan.memory.value,
                          plan.bound ? "at least" : "exact", plan.device);
    else
      text += ",,,";
    text += fmt::format(",{}\n", to_string(plan.fate));
  }
  return text;
}

std::string chosen_plan(const PlanSpace& space, PlanId id) {
  return plan_document(complete(space.scenario(id)));
}

}  // namespace trainyard
