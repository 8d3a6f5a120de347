#include "planners/sensitivity/sensitivity.h"

#include <fmt/format.h>

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/nearest.h"
#include "core/methods/catalogue.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/settings/settings.h"
#include "core/plan/shared_statistics.h"

namespace trainyard {
namespace {

// The most values of a number that may be refused on the way to the next legal one.
constexpr int kRefused = 6;
constexpr int kFixes = 3;

// The plan whose knobs are turned.
struct Base {
  Scenario given;  // batch and sequence are stated, so that they stay
  Plan complete;
  PlanFigures now;
  const CostOf* cost = nullptr;
};

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + " " + b;
}

int degree_of(const Mesh& mesh, std::string_view key) {
  return key == "tp" ? mesh.tp : key == "pp" ? mesh.pp : key == "cp" ? mesh.cp : *mesh.dp;
}

// The change, such as "pp=2", that keeps the product of the degrees when `key` goes from one value
// to another; "" if there is none.
std::string partner(const Base& base, std::string_view key, std::int64_t from, std::int64_t to) {
  const std::int64_t have = degree_of(base.complete.mesh, key) * from;
  if (have % to != 0 || have / to > 1'000'000) return "";
  return std::string(key) + "=" + std::to_string(have / to);
}

// The changes that may accompany a value so that the degrees multiply to the devices; "" = no
// change is needed.
std::vector<std::string> partners(const Base& base, std::string_view key,
                                  const std::string& value) {
  constexpr std::array<std::string_view, 3> kDegrees = {"tp", "pp", "cp"};
  const bool data = key == "dp";
  if (!data && std::find(kDegrees.begin(), kDegrees.end(), key) == kDegrees.end()) return {""};
  const std::int64_t from = degree_of(base.complete.mesh, key), to = std::stoll(value);
  std::vector<std::string> found;
  if (!data)
    if (std::string follows = partner(base, "dp", from, to); !follows.empty())
      found.push_back(std::move(follows));
  for (const std::string_view other : kDegrees)
    if (other != key)
      if (std::string words = partner(base, other, from, to); !words.empty())
        found.push_back(std::move(words));
  return found;
}

const Diagnostic* first_error(const Diagnostics& all) {
  const auto found = std::find_if(all.begin(), all.end(), [](const Diagnostic& d) {
    return d.severity == Diagnostic::Severity::Error;
  });
  return found == all.end() ? nullptr : &*found;
}

// Returns whether a fix is a single setting that is neither the knob itself nor held constant.
bool is_partner(const std::string& fix, std::string_view key) {
  const std::size_t equals = fix.find('=');
  if (equals == std::string::npos || fix.find(' ') != std::string::npos) return false;
  const Setting* setting = find_setting(std::string_view(fix).substr(0, equals));
  return setting != nullptr && setting->key != key && setting->key != "global-batch" &&
         setting->key != "seq";
}

void mark_illegal(KnobValue& value, const Diagnostic& wrong) {
  value.legal = false;
  value.why_not = wrong.message;
  value.field = wrong.place.text;
  value.fix = wrong.fix;
}

// Applies the settings of the value and its partners, and what fixes add to them.
void settle(const Base& base, std::string_view key, KnobValue& value) {
  const std::pair asked(value.words, value.partners);
  std::optional<Diagnostic> first;
  for (int fixes = 0;; ++fixes) {
    Scenario scenario;
    Diagnostics found;
    try {
      scenario = changed(base.given, value);
      found = check(scenario);
    } catch (const Error& e) {
      found = {{Diagnostic::Severity::Error, e.what(), e.place(), {}}};
    }
    const Diagnostic* wrong = first_error(found);
    if (wrong == nullptr) {
      try {
        const Workload workload = prepare(scenario);
        value.figures = figures_of(workload, *(*base.cost)(scenario));
        value.legal = true;
        value.change = value.figures.time_of_work() / base.now.time_of_work() - 1;
        value.maths = maths_between(base.given.model, base.complete, workload.scenario.plan);
      } catch (const Error& e) {
        if (e.kind() == Error::Kind::Cancelled) throw;
        mark_illegal(value, {Diagnostic::Severity::Error, e.what(), e.place(), {}});
      }
      return;
    }
    if (!first) first = *wrong;
    if (fixes == kFixes || !is_partner(wrong->fix, key)) {
      std::tie(value.words, value.partners) = asked;
      return mark_illegal(value, *first);
    }
    value.partners = joined(value.partners, wrong->fix);
    value.words = joined(value.words, wrong->fix);
  }
}

bool better_value(const KnobValue& a, const KnobValue& b) {
  if (a.legal != b.legal) return a.legal;
  if (!a.legal) return false;
  if (a.figures.fits != b.figures.fits) return a.figures.fits;
  return a.figures.fits ? a.change < b.change : a.figures.reserved < b.figures.reserved;
}

// The value with each partner that makes it legal, the best first; otherwise the reason why none
// does.
std::vector<KnobValue> turned(const Base& base, const std::string& key, const std::string& to) {
  KnobValue plain;
  plain.value = to;
  plain.devices = base.given.cluster.count;
  if (key == kDevicesKnob) {
    plain.devices = std::stoll(to);
    // Data parallelism takes up the change.
    if (base.given.plan.mesh.dp) plain.words = plain.partners = "dp=rest";
    settle(base, key, plain);
    return {plain};
  }
  std::vector<KnobValue> found;
  for (const std::string& words : partners(base, key, to)) {
    KnobValue value = plain;
    value.partners = words;
    value.words = joined(fmt::format("{}={}", key, to), words);
    settle(base, key, value);
    found.push_back(std::move(value));
  }
  if (found.empty()) {
    plain.words = key + "=" + to;
    plain.field = "plan#/mesh/" + key;
    plain.why_not = "no other degree can change by as much: " + std::to_string(plain.devices) +
                    " devices are what the degrees multiply to";
    found.push_back(std::move(plain));
  }
  std::stable_sort(found.begin(), found.end(), better_value);
  const auto refused =
      std::find_if(found.begin() + 1, found.end(), [](const KnobValue& v) { return !v.legal; });
  found.erase(refused, found.end());
  for (std::size_t i = 1; i < found.size(); ++i) found[i].alternative = true;
  return found;
}

// One direction of a number, or one word, to walk along.
struct Walk {
  std::size_t strip = 0;
  std::vector<std::string> values;
  bool downward = false;
  std::vector<KnobValue> found = {};
};

// Steps until enough values are legal.
std::vector<KnobValue> walked(const Base& base, const std::string& key, const Walk& walk,
                              int reach) {
  std::vector<KnobValue> found;
  int legal = 0, refused = 0;
  for (const std::string& value : walk.values) {
    if (legal == reach || refused == kRefused) break;
    std::vector<KnobValue> here = turned(base, key, value);
    const bool is_legal = here.front().legal;
    is_legal ? ++legal : ++refused;
    if (!is_legal && refused > 1) continue;  // the first refused value states the reason
    found.insert(walk.downward ? found.begin() : found.end(), std::make_move_iterator(here.begin()),
                 std::make_move_iterator(here.end()));
  }
  return found;
}

std::string doc_of(const std::string& key) {
  if (key == kDevicesKnob) return "devices of the cluster; replicas follow";
  if (const Setting* setting = find_setting(key)) return std::string(setting->doc);
  const std::size_t dot = key.find('.');
  for (const ParamSpec& spec : method(key.substr(0, dot)).params)
    if (spec.name == key.substr(dot + 1)) return std::string(spec.doc);
  return "";
}

std::vector<std::string> wanted_keys(const Scenario& complete, const StripOptions& options) {
  if (options.keys.empty()) return knob_keys(complete);
  std::vector<std::string> keys;
  for (const std::string& typed : options.keys) {
    const Setting* setting = find_setting(typed);
    const std::string key = setting == nullptr ? typed : std::string(setting->key);
    const bool known = key == kDevicesKnob || is_choice_param(key) || setting != nullptr;
    if (!known || knob_values(key, complete).none()) {
      std::vector<std::string> all = knob_keys(complete);
      for (const Setting& each : settings()) all.emplace_back(each.key);
      throw Error(Error::Kind::InvalidInput,
                  known ? "\"" + key + "\" has no values that could be listed"
                        : "no knob is called \"" + typed.substr(0, 80) + "\"" +
                              did_you_mean(typed.substr(0, 80), all),
                  {"--knob"});
    }
    keys.push_back(key);
  }
  return keys;
}

bool is_asynchronous(const Plan& plan) {
  const Choice* schedule = chosen_on(plan, MethodAxis::Schedule);
  return schedule != nullptr && method(schedule->method).settles;
}

}  // namespace

const KnobValue* KnobStrip::best() const {
  const KnobValue* found = nullptr;
  for (const KnobValue& v : values)
    if (v.legal && v.figures.fits && (found == nullptr || v.change < found->change)) found = &v;
  return found;
}

Scenario changed(const Scenario& scenario, const KnobValue& value) {
  Scenario other = with_devices(scenario, value.devices);
  apply_each(other.plan, value.words);
  return other;
}

std::string maths_between(const Model& model, const Plan& plan, const Plan& other) {
  std::string why;
  const auto say = [&](bool differs, const char* words) {
    if (differs) why += (why.empty() ? "" : ", ") + std::string(words);
  };
  say(is_asynchronous(plan) != is_asynchronous(other) ||
          (is_asynchronous(other) &&
           !(*chosen_on(plan, MethodAxis::Schedule) == *chosen_on(other, MethodAxis::Schedule))),
      "gradients of older weights");
  const Choice *precision = chosen_on(plan, MethodAxis::Precision),
               *others = chosen_on(other, MethodAxis::Precision);
  const auto differ = [&](std::string_view method) {
    const Choice *of = find_choice(plan, method), *of_other = find_choice(other, method);
    return (of == nullptr) != (of_other == nullptr) || (of != nullptr && !(*of == *of_other));
  };
  say((precision != nullptr && others != nullptr && !(*precision == *others)) ||
          differ(kTensorFormats),
      precision != nullptr && others != nullptr && precision->method != "fp32" &&
              others->method == "fp32" && find_choice(other, kTensorFormats) == nullptr
          ? "finer rounding"
          : "other rounding");
  say(plan.optimizer != other.optimizer, "another update rule");
  say(differ("sparse"), find_choice(plan, "sparse") == nullptr    ? "weights that stay zero"
                        : find_choice(other, "sparse") == nullptr ? "no weights that stay zero"
                                                                  : "other weights that stay zero");
  say(differ("tensor-train"), "tables as products of other cores");
  say(differ("lora") || differ("frozen"), "other weights that are trained");
  say(reduce_of(plan) != reduce_of(other) ||
          (reduce_of(other) >= Reduce::Adasum && plan.mesh.dp != other.mesh.dp),
      "updates of replicas combined otherwise");
  say(!(compression_of(plan) == compression_of(other)), "other parts of gradients sent");
  say(!(synchrony_of(plan) == synchrony_of(other)), "replicas that meet otherwise");
  say(samples_of_statistics(model, plan) != samples_of_statistics(model, other),
      "batch norms over other samples");
  say(plan.batch.global != other.batch.global, "another batch");
  say(plan.batch.sequence != other.batch.sequence || differ("packing"), "other samples");
  return why;
}

Sensitivity sensitivity(const Scenario& scenario, const CostOf& cost, const StripOptions& options) {
  Base base;
  base.cost = &cost;
  const Workload workload = prepare(scenario);
  base.given = scenario;
  base.complete = workload.scenario.plan;
  base.given.plan.batch = base.complete.batch;
  base.now = figures_of(workload, *cost(scenario));

  Sensitivity found{workload.scenario, base.now, {}, 0};
  std::vector<Walk> walks;
  for (const std::string& key : wanted_keys(workload.scenario, options)) {
    KnobValues values = knob_values(key, workload.scenario);
    const std::size_t strip = found.strips.size();
    found.strips.push_back({key, doc_of(key), values.now, {}});
    walks.push_back({strip, std::move(values.below), true});
    for (std::string& word : values.words) walks.push_back({strip, {std::move(word)}});
    walks.push_back({strip, std::move(values.above)});
  }
  tbb::parallel_for(std::size_t{0}, walks.size(), [&](std::size_t i) {
    Walk& walk = walks[i];
    walk.found = walked(base, found.strips[walk.strip].key, walk, options.reach);
  });
  for (Walk& walk : walks) {
    std::vector<KnobValue>& values = found.strips[walk.strip].values;
    found.priced += std::count_if(walk.found.begin(), walk.found.end(),
                                  [](const KnobValue& v) { return v.legal; });
    values.insert(values.end(), std::make_move_iterator(walk.found.begin()),
                  std::make_move_iterator(walk.found.end()));
  }
  return found;
}

std::vector<const KnobStrip*> by_gain(const Sensitivity& all) {
  std::vector<const KnobStrip*> strips;
  for (const KnobStrip& strip : all.strips) strips.push_back(&strip);
  std::stable_sort(strips.begin(), strips.end(), [](const KnobStrip* a, const KnobStrip* b) {
    const KnobValue *x = a->best(), *y = b->best();
    if ((x == nullptr) != (y == nullptr)) return x != nullptr;
    return x != nullptr && x->change < y->change;
  });
  return strips;
}

}  // namespace trainyard
