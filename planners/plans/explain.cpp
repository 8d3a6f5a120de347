// Explains why a plan lost: prices it alone and exactly, and compares it with the front.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "planners/plans/cost_models.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/plan_search.h"

namespace trainyard {
namespace {

// The settings in which a plan differs from another plan of the space.
std::string differs(const PlanSpace& space, PlanId id, PlanId from) {
  std::string text;
  for (std::size_t k = 0; k < space.knobs().size(); ++k)
    if (space.value(id, k) != space.value(from, k))
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : " ", space.knobs()[k].key, space.value(id, k));
  return text;
}

double slower(Duration step, Duration than) {
  return static_cast<double>((step - than).count()) /
         static_cast<double>(std::max<Duration::rep>(1, than.count()));
}

std::string size_beside(Bytes mine, Bytes other) {
  if (mine == other) return "as large";
  return fmt::format("{} {}", readable(mine > other ? mine - other : other - mine),
                     mine > other ? "larger" : "smaller");
}

// A plan may be forbidden for several reasons; this picks the one under which the search counted
// it.
Reason illegal(const ExactPrice& price, const PricedPlan* tried) {
  Reason why;
  why.fate = price.illegal;
  const Diagnostic* named = &price.errors.front();
  if (tried != nullptr)
    for (const Diagnostic& d : price.errors)
      if (illegal_fate({d}) == tried->fate) {
        named = &d, why.fate = tried->fate;
        break;
      }
  why.sentence = named->message;
  why.field = named->place.text;
  why.fix = named->fix;
  return why;
}

// Calls f with each plan of the space that differs in one knob, and with the distance to that
// value.
template <class F>
void each_neighbour(const PlanSpace& space, PlanId id, const F& f) {
  const std::vector<std::uint32_t> here = space.digits(id);
  for (std::size_t k = 0; k < space.knobs().size(); ++k)
    for (std::uint32_t v = 0; v < space.knobs()[k].values.size(); ++v) {
      std::vector<std::uint32_t> digits = here;
      digits[k] = v;
      if (v == here[k] || space.canonical(digits) != digits) continue;
      const PlanId other = space.id(digits);
      std::string words = space.knobs()[k].key + "=" + space.knobs()[k].values[v];
      if (const Plan plan = space.plan(other); plan.split != space.plan(id).split)
        words += " split=" + setting(plan, "split");
      f(other, words, static_cast<int>(v > here[k] ? v - here[k] : here[k] - v));
    }
}

// The nearest single change that makes the plan legal; empty if there is none. What the diagnostic
// itself proposes comes first, since it may lie outside the space.
std::string legal_change(const PlanSpace& space, PlanId id, const std::string& proposed) {
  if (!proposed.empty()) {
    Scenario s = space.scenario(id);
    const bool is_setting = [&] {
      try {
        apply_setting(s.plan, proposed);
        return true;
      } catch (const Error&) {
        return false;
      }
    }();
    if (is_setting && !has_errors(check(s))) return proposed;
  }
  std::string best;
  int nearest = 0;
  each_neighbour(space, id, [&](PlanId other, const std::string& words, int away) {
    if (!best.empty() && away >= nearest) return;
    if (!has_errors(check(space.scenario(other)))) best = words, nearest = away;
  });
  return best;
}

struct Mend {
  std::string words;
  Duration step{};
};

// The single change that makes the plan fit with the shortest step; without words if there is none.
Mend fitting_change(const PlanSpace& space, PlanId id, Bytes spare, CostModels& costs) {
  Mend best;
  each_neighbour(space, id, [&](PlanId other, const std::string& words, int) {
    const Scenario s = space.scenario(other);
    const ExactPrice price = exact_price(s, costs.of(s));
    if (price.illegal != Fate::Untried || price.memory > memory_limit(s, price.device, spare))
      return;
    if (best.words.empty() || price.step < best.step) best = {words, price.step};
  });
  return best;
}

Reason too_large(const ExactPrice& price, Bytes limit, int pp) {
  Reason why;
  why.fate = Fate::Memory;
  const Bytes over = price.memory - limit;
  why.distance = static_cast<double>(over.value);
  why.sentence = fmt::format("does not fit: {} over on {} {} ({} of {})", readable(over),
                             pp > 1 ? "stage" : "device", price.device, readable(price.memory),
                             readable(limit));
  return why;
}

}  // namespace

Reason explain(const PlanSpace& space, const SearchResult& found, PlanId id,
               const SearchOptions& options) {
  CostModels costs(options.cost);
  const Scenario s = space.scenario(id);
  const ExactPrice price = exact_price(s, costs.of(s));
  const PricedPlan* tried = found.find(id);
  if (price.illegal != Fate::Untried) {
    Reason why = illegal(price, tried);
    why.fix = legal_change(space, id, why.fix);
    return why;
  }
  const Bytes limit = memory_limit(s, price.device, options.spare);
  // A plan that bounds alone ruled out may also exceed memory; its fate stays what it was.
  if (price.memory > limit && (tried == nullptr || !fits(tried->fate))) {
    Reason why = too_large(price, limit, s.plan.mesh.pp);
    const Mend mend = fitting_change(space, id, options.spare, costs);
    why.fix = mend.words;
    if (!mend.words.empty())
      why.sentence += fmt::format("; {} fits, at {}", mend.words, readable_step(mend.step));
    return why;
  }
  if (tried != nullptr && tried->fate == Fate::Memory && price.memory <= limit) {
    ExactPrice simulated = price;
    simulated.memory = tried->memory;
    Reason why = too_large(simulated, limit, s.plan.mesh.pp);
    why.sentence += fmt::format(" when simulated; the closed form has {}", readable(price.memory));
    return why;
  }
  Reason why;
  why.fate = tried != nullptr && fits(tried->fate) ? tried->fate : Fate::Dominated;
  if (why.fate == Fate::Best) {
    why.sentence = fmt::format("the best by {}: {}, {}", to_string(options.objective),
                               readable_step(price.step), readable(price.memory));
    return why;
  }
  if (found.best.empty()) {
    why.sentence = fmt::format("fits: {}, {}", readable_step(price.step), readable(price.memory));
    return why;
  }
  const Candidate& best = found.best.front();
  why.distance = slower(price.step, best.step);
  const auto beside = [&](const Candidate& c, const std::string& name) {
    const double share = slower(price.step, c.step);
    return fmt::format("{:.1f} % {} than {} and {}", 100 * std::abs(share),
                       share < 0 ? "faster" : "slower", name, size_beside(price.memory, c.memory));
  };
  if (why.fate == Fate::Front) {
    why.sentence = "on the front: " + beside(best, "the best");
    return why;
  }
  const auto dominator =
      std::find_if(found.front.begin(), found.front.end(), [&](const Candidate& c) {
        return c.id != id && c.step <= price.step && c.memory <= price.memory;
      });
  if (dominator == found.front.end()) {
    why.sentence = beside(best, "the best");
    return why;
  }
  why.distance = slower(price.step, dominator->step);
  why.sentence =
      fmt::format("dominated by #{} of the front: {}", dominator - found.front.begin() + 1,
                  beside(*dominator, fmt::format("#{}", dominator - found.front.begin() + 1)));
  const std::string change = differs(space, dominator->id, id);
  if (!change.empty()) why.fix = change, why.sentence += fmt::format(", which has {}", change);
  if (price.memory > limit)
    why.sentence += fmt::format("; nor does it fit: {} over", readable(price.memory - limit));
  return why;
}

}  // namespace trainyard
