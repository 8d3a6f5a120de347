#include "planners/budget/fit_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/methods/precision/tensor_state.h"
#include "core/methods/settings/settings.h"
#include "core/model/ops.h"
#include "core/model/uses_op.h"
#include "core/plan/mesh.h"
#include "planners/plans/plan_search.h"
#include "planners/sensitivity/knob_values.h"
#include "planners/sensitivity/sensitivity.h"

namespace trainyard {
namespace {

bool has_key(const std::vector<std::string>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string setting_key(std::string_view typed, const std::string& place) {
  if (const Setting* known = find_setting(typed)) return std::string(known->key);
  std::vector<std::string_view> names;
  for (const Setting& known : settings()) names.push_back(known.key);
  refuse(place, fmt::format("no setting is called \"{}\", which would be a lever{}",
                            typed.substr(0, 80), did_you_mean(typed, names)));
}

// A plan with one value changed; empty where the value does not belong to this plan.
std::optional<Plan> with_value(const Plan& plan, const std::string& key, const std::string& value) {
  Plan changed = plan;
  try {
    apply_setting(changed, key, value, {"fit"});
  } catch (const Error&) {
    return std::nullopt;
  }
  return changed;
}

// Nobody gets these without asking: weights in 16 bits that are rounded to the nearest lose every
// update below half of a last place, and vs-quant trains networks that answer in few bits.
constexpr std::string_view kOnlyAsked[] = {"bf16-nearest", "vs-quant"};

// Formats of an optimizer's state. That of second moments is none of them, because in bf16 they
// stand still unless beta2 is below the usual one; adamw-8bit has a scale for each block of them.
constexpr std::string_view kStateFormats[] = {"first-moment-dtype", "main-weights-dtype",
                                              "optimizer"};

constexpr double kLeastSaved = 0.01;  // between plans of the front, of memory

// Moments in these are for who asks for them: fp8 rounds an average to 3 bits, and fp16 takes
// scales beside the bytes of bf16.
constexpr std::string_view kWithScales[] = {"fp16", "fp8"};

// Nine of ten weights that stay zero cost more quality than any other lever and are faster on many
// devices, so that the fastest plan would always have them: they are pulled where nothing else is
// within the budget, or by who asks for them.
constexpr std::string_view kLastResort = "sparsity";
// The sparsity at which the quality of sparse networks is measured
// (tests/backends/sparse_test.cpp).
constexpr std::string_view kUsualSparsity = "0.9";

template <std::size_t n>
bool is_one_of(const std::string_view (&list)[n], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

class BudgetFit {
 public:
  explicit BudgetFit(const FitQuestion& question) : question_(question), base_(question.scenario) {
    whole_ = prepare(question.scenario).scenario;
    found_.budget = question.budget;
    const Bytes capacity = whole_.cluster.device.memory.value;
    if (question.budget > capacity)
      refuse("--budget", fmt::format("expected at most the memory of a device, {}, found {}",
                                     readable(capacity), readable(question.budget)));
    // Every plan has the batch of this one, and states the microbatch that a lever may replace.
    base_.plan.batch = whole_.plan.batch;
    found_.plain = base_;
    find_levers();
  }

  FittedPlan run() {
    found_.start = priced("", base_);
    choose_among(ordinary_levers());
    if (!found_.chosen && last_resort_) choose_among(found_.levers);
    std::uint64_t tried = 0, fitting = 0;
    found_.faithful = within_budget(front_of(faithful_levers(), tried, fitting));
    if (found_.chosen || !found_.front.empty())
      walk_to(found_.chosen ? *found_.chosen : found_.front.back());
    thin_front();
    return std::move(found_);
  }

 private:
  void find_levers() {
    std::vector<std::string> bound;
    for (const std::string& key : question_.kept) kept_.push_back(setting_key(key, "--keep"));
    for (const Bound& lever : question_.levers) {
      bound.push_back(setting_key(lever.key, "--lever " + lever.key));
      if (has_key(kept_, bound.back()))
        refuse("--lever " + lever.key,
               fmt::format("{} is kept by --keep too; one of them has to go", bound.back()));
      bounds_.push_back(lever);
    }
    for (const std::string_view key : usual_levers())
      if (!has_key(kept_, key) && !has_key(bound, key)) add_usual(key);
    // The space reads the values of each bound, and says what is wrong with them.
    const PlanSpace space = space_of(bounds_);
    for (const Knob& knob : space.knobs())
      if (knob.values.size() > 1) found_.levers.push_back(knob);
    for (Knob& lever : found_.levers) own_first(lever);
  }

  std::string own_value(std::string_view key) const {
    std::string value = setting(base_.plan, key);
    return value.empty() ? setting(whole_.plan, key) : value;
  }

  // Returns whether the lever does anything at all in a plan of this mesh and model.
  bool acts(std::string_view key) const {
    const Mesh& mesh = whole_.plan.mesh;
    if (key == "zero") return ranks(mesh, Group::Data) > 1;
    if (key == "sequence-parallel") return mesh.tp > 1;
    return key != "flash-attention" || uses_op(whole_.model, attention());
  }

  // The plan's own value, and those of its neighbours that can free memory.
  void add_usual(std::string_view key) {
    if (!acts(key)) return;
    KnobValues values = knob_values(key, whole_);
    std::string words = own_value(key);
    if (key == kLastResort && words == "off") values.words.emplace_back(kUsualSparsity);
    if (words.empty()) return;  // this plan has no such choice
    for (const std::vector<std::string>* others : {&values.below, &values.words})
      for (const std::string& value : *others)
        if (is_usual(std::string(key), value)) words += "," + value;
    if (words.find(',') == std::string::npos) return;
    bounds_.push_back({std::string(key), words});
    last_resort_ = last_resort_ || key == kLastResort;
  }

  // Most optimizers have none of the formats, and no other rule keeps its state in less. Sparse
  // weights are not legal beside all else, and some models have none.
  bool is_usual(const std::string& key, const std::string& value) const {
    if (is_one_of(kOnlyAsked, value) || !with_value(base_.plan, key, value)) return false;
    if (!is_one_of(kStateFormats, key) && key != kLastResort) return true;
    if (is_one_of(kWithScales, value) && !(key == "main-weights-dtype" && wants_scaled_main()))
      return false;
    if (key == "optimizer" && (whole_.plan.optimizer != "adamw" || value != kAdamw8bit))
      return false;
    const std::string format = key + "=" + value;
    return legal_with(format) ||
           (!has_key(kept_, "precision") && legal_with("precision=bf16 " + format));
  }

  // Products that cast bf16 weights to fp8 may have main weights in fp16 beside these, and no
  // remainders.
  bool wants_scaled_main() const {
    return legal_with("main-weights-dtype=fp16") && !legal_with("main-weights-dtype=remainder");
  }

  void own_first(Knob& lever) const {
    const std::string own = own_value(lever.key);
    std::erase(lever.values, own);
    lever.values.insert(lever.values.begin(), own);
  }

  PlanSpace space_of(const std::vector<Bound>& bounds) const {
    std::vector<std::string> bound, fixed;
    for (const Bound& b : bounds) bound.push_back(setting_key(b.key, "--lever " + b.key));
    for (const std::string_view key : knob_keys())
      if (!has_key(bound, key)) fixed.emplace_back(key);
    return PlanSpace(base_, fixed, bounds);
  }

  void choose_among(const std::vector<Knob>& levers) {
    found_.front = front_of(levers, found_.tried, found_.fitting);
    found_.chosen = within_budget(found_.front);
  }

  std::vector<Knob> ordinary_levers() const {
    std::vector<Knob> levers = found_.levers;
    for (Knob& lever : levers)
      if (last_resort_ && lever.key == kLastResort) lever.values.resize(1);
    return levers;
  }

  // The levers without the values after which training is not step by step the same.
  std::vector<Knob> faithful_levers() const {
    std::vector<Knob> levers = found_.levers;
    for (Knob& lever : levers)
      std::erase_if(lever.values, [&](const std::string& value) {
        if (value == lever.values.front()) return false;
        const std::optional<Plan> changed = with_value(base_.plan, lever.key, value);
        return !changed || !changes_of(*changed).empty();
      });
    return levers;
  }

  std::string changes_of(const Plan& plan) const {
    Scenario other = base_;
    other.plan = plan;
    try {
      return maths_between(whole_.model, whole_.plan, complete(other));
    } catch (const Error&) {
      return "not legal alone";
    }
  }

  FitPlan priced(std::string words, const Scenario& scenario) const {
    return {std::move(words), figures_of(scenario, question_.cost), changes_of(scenario.plan)};
  }

  // Fastest first.
  std::vector<FitPlan> front_of(const std::vector<Knob>& levers, std::uint64_t& tried,
                                std::uint64_t& fitting) const {
    std::vector<Bound> bounds;
    for (const Knob& lever : levers)
      bounds.push_back({lever.key, fmt::format("{}", fmt::join(lever.values, ","))});
    const PlanSpace space = space_of(bounds);
    SearchOptions options;
    options.top = 1;
    options.stop = question_.stop;
    options.cost = question_.cost;
    const SearchResult searched = search(space, options);
    if (searched.stopped) throw Error(Error::Kind::Cancelled, "the search was stopped");
    tried = searched.tried, fitting = searched.fitting;
    std::vector<FitPlan> front;
    for (const Candidate& candidate : searched.front)
      front.push_back(priced(words_of(space, candidate.id), space.scenario(candidate.id)));
    return front;
  }

  std::string words_of(const PlanSpace& space, PlanId id) const {
    std::string words;
    for (const Knob& lever : found_.levers) {
      const std::string& value = space.value(id, space.knob(lever.key));
      if (value != lever.values.front())
        words += fmt::format("{}{}={}", words.empty() ? "" : " ", lever.key, value);
    }
    return words;
  }

  std::optional<FitPlan> within_budget(const std::vector<FitPlan>& front) const {
    const auto first = std::find_if(front.begin(), front.end(), [&](const FitPlan& plan) {
      return plan.figures.reserved <= question_.budget;
    });
    return first == front.end() ? std::nullopt : std::optional(*first);
  }

  // A plan that is slower for a few bytes is no choice; the chosen one and the smallest stay.
  void thin_front() {
    std::vector<FitPlan> kept;
    for (FitPlan& plan : found_.front) {
      const bool last = &plan == &found_.front.back(),
                 chosen = found_.chosen && found_.chosen->words == plan.words;
      const auto saves = [&](const FitPlan& than) {
        return static_cast<double>(plan.figures.reserved.value) <=
               (1 - kLeastSaved) * static_cast<double>(than.figures.reserved.value);
      };
      if (kept.empty() || last || chosen || saves(kept.back())) kept.push_back(std::move(plan));
    }
    found_.front = std::move(kept);
  }

  // Pulls the levers of the goal one by one, always the one that frees most.
  void walk_to(const FitPlan& goal) {
    std::vector<std::string> left;
    for (std::size_t at = 0; at < goal.words.size();) {
      const std::size_t end = std::min(goal.words.find(' ', at), goal.words.size());
      left.push_back(goal.words.substr(at, end - at));
      at = end + 1;
    }
    std::string pulled;
    const auto with = [&](const std::string& word) {
      return pulled.empty() ? word : pulled + " " + word;
    };
    while (!left.empty()) {
      std::optional<FitPlan> best;
      std::size_t which = 0;
      for (std::size_t i = 0; i < left.size(); ++i) {
        std::optional<FitPlan> next = legal_with(with(left[i]));
        if (next && (!best || next->figures.reserved < best->figures.reserved))
          best = std::move(next), which = i;
      }
      if (!best) {  // none of them is legal without another
        found_.steps.push_back({fmt::format("{}", fmt::join(left, " ")), goal});
        return;
      }
      pulled = with(left[which]);
      found_.steps.push_back({left[which], *std::move(best)});
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  std::optional<FitPlan> legal_with(const std::string& words) const {
    Scenario changed = base_;
    try {
      apply_each(changed.plan, words);
      return priced(words, changed);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::Cancelled) throw;
      return std::nullopt;
    }
  }

  const FitQuestion& question_;
  Scenario base_;                  // as it was given, with its batch stated
  Scenario whole_;                 // with its plan complete
  std::vector<std::string> kept_;  // keys
  std::vector<Bound> bounds_;
  bool last_resort_ = false;  // it is among the levers, and nobody asked for it
  FittedPlan found_;
};

}  // namespace

const std::vector<std::string_view>& usual_levers() {
  static const std::vector<std::string_view> levers = {
      "precision", "gradient-dtype",  "first-moment-dtype", "main-weights-dtype",
      "optimizer", "micro-batch",     "recompute",          "offload",
      "zero",      "flash-attention", "sequence-parallel",  "sparsity"};
  return levers;
}

FittedPlan fit_budget(const FitQuestion& question) { return BudgetFit(question).run(); }

Scenario fitted(const FittedPlan& found, const FitPlan& plan) {
  Scenario scenario = found.plain;
  apply_each(scenario.plan, plan.words);
  return scenario;
}

std::string fit_sentence(const FittedPlan& found,
                         const std::function<std::string(const std::string&)>& name) {
  const auto named = [&](const std::string& words) { return name ? name(words) : words; };
  const std::string budget = readable(found.budget);
  if (!found.chosen) {
    if (found.front.empty())
      return fmt::format(
          "No combination of {} levers fits in the memory of a device, let alone in "
          "{}: shard or divide the model further.",
          found.levers.size(), budget);
    const FitPlan& least = found.front.back();
    return fmt::format("Nothing fits in {}: the smallest plan takes {} with {}, {} over.", budget,
                       readable(least.figures.reserved),
                       least.words.empty() ? "no lever pulled" : named(least.words),
                       readable(least.figures.reserved - found.budget));
  }
  if (found.chosen->words.empty())
    return fmt::format("Fits in {} as it stands, with {} spare.", budget,
                       readable(found.budget - found.chosen->figures.reserved));
  const double slower =
      to_seconds(found.chosen->figures.step) / to_seconds(found.start.figures.step);
  return fmt::format(
      "Fits in {} with {}: {} instead of {} ({:.3g} times smaller), {:.3g} times the step.", budget,
      named(found.chosen->words), readable(found.chosen->figures.reserved),
      readable(found.start.figures.reserved),
      static_cast<double>(found.start.figures.reserved.value) /
          static_cast<double>(std::max<std::int64_t>(1, found.chosen->figures.reserved.value)),
      slower);
}

}  // namespace trainyard
