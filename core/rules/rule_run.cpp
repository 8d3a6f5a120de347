#include "core/rules/rule_run.h"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t kMostLooks = 32;  // no rule looks back further

}  // namespace

RuleRun::RuleRun(RuleWatch watch) : watch_(std::move(watch)) { shown_.earlier = watch_.earlier; }

bool RuleRun::looks_at(std::int64_t step) const {
  return step == shown_.first_step + 1 || step % watch_.interval == 0;
}

RuleReads RuleRun::reads_at(std::int64_t step) const {
  RuleReads all = RuleReads::None;
  for (const ChosenRule& chosen : watch_.rules)
    if (chosen.rule != &poor_weight_initialization() || step <= chosen.params.integer("steps"))
      all = all | chosen.rule->reads;
  return all;
}

void RuleRun::begin(std::int64_t first_step) {
  if (shown_.losses.empty()) shown_.first_step = first_step;
}

void RuleRun::go_back(std::int64_t step) {
  shown_.losses.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(
      step - shown_.first_step, 0, static_cast<std::int64_t>(shown_.losses.size()))));
  while (!shown_.evaluations.empty() && shown_.evaluations.back().step > step)
    shown_.evaluations.pop_back();
  while (!shown_.looks.empty() && shown_.looks.back().step > step) shown_.looks.pop_back();
}

bool RuleRun::see(Look look) {
  shown_.looks.push_back(std::move(look));
  if (shown_.looks.size() > kMostLooks) shown_.looks.pop_front();
  const std::size_t before = fired_.size();
  for (const ChosenRule& chosen : watch_.rules) {
    if (chosen.rule->of_run == nullptr) continue;
    FiredRules own;
    chosen.rule->of_run(chosen.params, shown_, own);
    for (FiredRule& one : own) {
      one.rule = chosen.rule->name;
      const bool known = std::any_of(fired_.begin(), fired_.end(), [&](const FiredRule& f) {
        return f.rule == one.rule && f.where == one.where;
      });
      if (known) continue;
      one.advice = chosen.rule->advice;
      fired_.push_back(std::move(one));
    }
  }
  return fired_.size() > before;
}

}  // namespace trainyard
