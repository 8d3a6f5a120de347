#include "app/workspace/plans/why_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "planners/plans/exact_price.h"

namespace trainyard {
namespace {

[[noreturn]] void refuse_why(const std::string& message) {
  throw Error(Error::Kind::InvalidInput, message, {"--why"});
}

// A knob and the value asked for, in the space's spelling.
struct Wanted {
  std::size_t knob = 0;
  std::uint32_t digit = 0;
};

std::string value_of(std::string_view assignment) {
  return std::string(assignment.substr(assignment.find('=') + 1));
}

// The setting as a plan prints it after taking it: "on" if "true" was typed.
std::string normal(const Plan& base, const std::string& key, const std::string& assignment) {
  if (key == "devices") return value_of(assignment);
  Plan plan = base;
  apply_setting(plan, assignment, Place{"--why"});
  return setting(plan, key);
}

std::string key_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

// The words as digits; empty if the space lacks one, with a sentence in `outside`.
std::optional<std::vector<Wanted>> in_space(const PlanSpace& space,
                                            const std::vector<std::string>& words,
                                            std::string& outside) {
  std::vector<Wanted> wanted;
  for (const std::string& word : words) {
    const std::string key = key_of(word), value = normal(space.base().plan, key, word);
    const std::size_t k = space.knob(key);
    if (k == space.knobs().size()) {
      const std::string has = setting(complete(space.base()), key);
      if (has == value) continue;
      outside = fmt::format("{}={} is not in the space, where every plan has {}={}", key, value,
                            key, has);
      return std::nullopt;
    }
    const std::vector<std::string>& values = space.knobs()[k].values;
    const auto at = std::find(values.begin(), values.end(), value);
    if (at == values.end()) {
      // The remaining degree follows from the others.
      if (key == "dp" && values == std::vector<std::string>{"rest"}) continue;
      outside = fmt::format("{}={} is not in the space, which has {}", key, value,
                            fmt::join(values, ", "));
      return std::nullopt;
    }
    wanted.push_back({k, static_cast<std::uint32_t>(at - values.begin())});
  }
  return wanted;
}

// Returns whether a point has this dp, if the space only states "rest".
bool has_data_parallel(const PlanSpace& space, PlanId id, std::int64_t wanted) {
  if (wanted == 0) return true;
  const auto number = [&](std::string_view key) {
    const std::size_t k = space.knob(key);
    return space.number(k, space.digit(id, k));
  };
  return number("devices") == number("tp") * number("cp") * number("pp") * wanted;
}

double objective(const Candidate& c, PlanObjective by) {
  const auto step = static_cast<double>(c.step.count());
  return by == PlanObjective::Time     ? step
         : by == PlanObjective::Memory ? static_cast<double>(c.memory.value)
                                       : step * static_cast<double>(c.devices);
}

// The figure by which the plan is ranked; smaller is better.
double figure(const PlanSpace& space, PlanId id, const PricedPlan& plan, PlanObjective by) {
  if (plan.fate == Fate::Memory) return static_cast<double>(plan.memory.value);
  const std::size_t k = space.knob("devices");
  return objective({.step = plan.step,
                    .memory = plan.memory,
                    .devices = space.number(k, space.digit(id, k)),
                    .device_time = {}},
                   by);
}

int rank(Fate fate) { return fits(fate) ? 0 : fate == Fate::Memory ? 1 : 2; }

// The best of the tried plans with these words.
std::optional<PlanId> best_match(const PlanSpace& space, const SearchResult& found,
                                 const SearchOptions& options, const std::vector<Wanted>& wanted,
                                 std::int64_t data_parallel, std::uint64_t& matches) {
  std::optional<PlanId> best;
  std::pair<int, double> best_figure;
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    const PlanId id = found.ids[i];
    if (!std::all_of(wanted.begin(), wanted.end(),
                     [&](const Wanted& w) { return space.digit(id, w.knob) == w.digit; }))
      continue;
    if (!has_data_parallel(space, id, data_parallel)) continue;
    ++matches;
    const PricedPlan& plan = found.plans[i];
    std::pair<int, double> mine{rank(plan.fate), 0};
    mine.second = mine.first < 2 ? figure(space, id, plan, options.objective)
                  : found.best.empty()
                      ? 0
                      : static_cast<double>(words_apart(space, id, found.best.front().id));
    if (!best || mine < best_figure) best = id, best_figure = mine;
  }
  return best;
}

// Gives for a plan outside the space the reason that the engine would give inside it.
Reason reason_outside(const Scenario& scenario, const SearchResult& found,
                      const SearchOptions& options) {
  Reason why;
  const ExactPrice price = exact_price(scenario, *options.cost(scenario));
  if (price.illegal != Fate::Untried) {
    const Diagnostic& first = price.errors.front();
    return {price.illegal, first.message, first.place.text, first.fix, 0};
  }
  const Bytes limit = memory_limit(scenario, price.device, options.spare);
  if (price.memory > limit) {
    why.fate = Fate::Memory;
    why.distance = static_cast<double>((price.memory - limit).value);
    why.sentence =
        fmt::format("does not fit: {} over on device {} ({} of {})", readable(price.memory - limit),
                    price.device, readable(price.memory), readable(limit));
    return why;
  }
  why.fate = Fate::Untried;
  why.sentence = fmt::format("fits: {}, {}", readable_step(price.step), readable(price.memory));
  if (found.best.empty()) return why;
  const Duration best = found.best.front().step;
  why.distance = to_seconds(price.step) / to_seconds(best) - 1;
  why.sentence += fmt::format("; {:.1f} % {} than the best of the space",
                              100 * std::abs(why.distance), why.distance < 0 ? "faster" : "slower");
  return why;
}

std::optional<PlanId> nearest_winner(const PlanSpace& space, const SearchResult& found, PlanId id) {
  std::optional<PlanId> best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto* list : {&found.best, &found.front})
    for (const Candidate& c : *list)
      if (const std::size_t apart = words_apart(space, id, c.id); c.id != id && apart < least)
        best = c.id, least = apart;
  return best;
}

Scenario outside_scenario(const PlanSpace& space, const SearchResult& found,
                          const std::vector<std::string>& words) {
  Scenario scenario = found.best.empty() ? space.base() : space.scenario(found.best.front().id);
  // A requested degree takes its devices from data parallelism.
  scenario.plan.mesh.dp.reset();
  scenario.plan.split.layers.clear();
  for (const std::string& word : words) {
    if (key_of(word) == "devices")
      scenario.cluster = with_devices(space.base().cluster, parse_integer(value_of(word)));
    else
      apply_setting(scenario.plan, word, Place{"--why"});
  }
  return scenario;
}

}  // namespace

std::vector<std::string> plan_words_of(std::string_view typed) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < typed.size();) {
    const std::size_t end = std::min(typed.find_first_of(", \t\n", at), typed.size());
    if (end > at) tokens.emplace_back(typed.substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::string> words;
  bool awaits_value = false;
  for (const std::string& token : tokens) {
    if (token.starts_with("--")) {
      if (awaits_value) words.back() += "on";  // a switch, as --sequence-parallel
      words.push_back(token.substr(2));
      awaits_value = words.back().find('=') == std::string::npos;
      if (awaits_value) words.back() += "=";
    } else if (awaits_value) {
      words.back() += token, awaits_value = false;
    } else if (token.find('=') != std::string::npos) {
      words.push_back(token);
    } else if (!words.empty()) {
      words.back() += "," + token;  // a value with commas, as split=20,20
    } else {
      refuse_why(fmt::format("expected words as tp=8,pp=2, found \"{}\"", token.substr(0, 80)));
    }
  }
  if (awaits_value) words.back() += "on";
  if (words.empty()) refuse_why("expected words as tp=8,pp=2, found nothing");
  for (std::string& word : words) {
    const std::string key = key_of(word);
    if (key == "devices") continue;
    std::vector<std::string_view> names{"devices"};
    for (const Setting& known : settings()) names.push_back(known.key);
    const Setting* known = find_setting(key);
    if (known == nullptr)
      refuse_why(fmt::format("no setting is called \"{}\"{}", key.substr(0, 80),
                             did_you_mean(key, names)));
    word = std::string(known->key) + word.substr(key.size());
  }
  return words;
}

void expect_words(const PlanSpace& space, const std::vector<std::string>& words) {
  Plan scratch = space.base().plan;
  for (const std::string& word : words) {
    if (key_of(word) != "devices") {
      apply_setting(scratch, word, Place{"--why"});
      continue;
    }
    const std::int64_t devices = parse_integer(value_of(word), {"--why devices"});
    if (devices < 1 || devices > space.base().cluster.count)
      refuse_why(fmt::format("expected devices from 1 to {}, found {}", space.base().cluster.count,
                             devices));
    with_devices(space.base().cluster, devices);
  }
}

WhyPlan why_plan(const PlanSpace& space, const SearchResult& found, const SearchOptions& options,
                 PlanPrices& prices, const std::vector<std::string>& words) {
  WhyPlan why;
  const auto wanted = in_space(space, words, why.outside);
  std::int64_t data_parallel = 0;
  for (const std::string& word : words)
    if (key_of(word) == "dp" && value_of(word) != "rest")
      data_parallel = parse_integer(value_of(word), {"--why dp"});
  if (wanted) {
    why.id = best_match(space, found, options, *wanted, data_parallel, why.matches);
    if (!why.id) why.outside = "no plan that was tried has these words together";
  }
  if (why.id) {
    why.scenario = space.scenario(*why.id);
    why.words = space.words(*why.id);
    why.reason = explain(space, found, *why.id, options);
    why.nearest = nearest_winner(space, found, *why.id);
    if (why.nearest) why.change = words_beside(space, *why.nearest, *why.id);
  } else {
    why.scenario = outside_scenario(space, found, words);
    why.words = words;
    why.reason = reason_outside(why.scenario, found, options);
    if (!found.best.empty()) why.nearest = found.best.front().id;
  }
  if (legal(why.reason.fate) || why.reason.fate == Fate::Untried)
    why.mine = prices.estimated(why.scenario);
  if (!found.best.empty()) why.best = prices.estimated(space.scenario(found.best.front().id));
  return why;
}

}  // namespace trainyard
