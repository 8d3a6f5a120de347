#include "core/result/training_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

template <class T>
void add_band(std::optional<Banded<T>>& to, const std::optional<Banded<T>>& more) {
  if (!to || !more) return to.reset();
  to->value = to->value + more->value, to->low = to->low + more->low,
  to->high = to->high + more->high;
}

void add_cost(TrainingCost& to, const TrainingCost& more) {
  if (to.steps == 0) {
    to = more;
    return;
  }
  to.steps += more.steps, to.work += more.work;
  to.seconds.value += more.seconds.value, to.seconds.low += more.seconds.low,
      to.seconds.high += more.seconds.high;
  add_band(to.energy, more.energy);
  add_band(to.money, more.money);
}

std::string long_time(double of) {
  constexpr double kDayOfSeconds = 86400;
  return of < kDayOfSeconds ? readable(seconds(of)) : readable_days(of);
}

}  // namespace

PricedPhase priced_phase(const BatchPhase& phase, const Result& of) {
  return {phase,
          of.step,
          of.counts_tokens ? of.tokens_per_step : of.samples_per_step,
          of.mfu,
          worst_peak(of),
          of.energy,
          of.money,
          of.evaluation ? of.evaluation->of_step(of.step.value) : 0};
}

std::vector<PricedPhase> phases_of(const Result& result) {
  if (!result.ramp.empty()) return result.ramp;
  return {priced_phase({.batch = result.plan.batch.global}, result)};
}

TrainingCost cost_of_steps(const PricedPhase& phase, double steps) {
  // A device that evaluates is taken to draw and to cost what it does while it trains.
  const double lasting = steps * (1 + phase.evaluation);
  const auto times = [lasting](const auto& one) {
    return std::optional(std::decay_t<decltype(one)>{
        {one.value * lasting}, {one.low * lasting}, {one.high * lasting}, one.basis});
  };
  TrainingCost cost{steps,
                    phase.work * steps,
                    {to_seconds(phase.step.value) * lasting, to_seconds(phase.step.low) * lasting,
                     to_seconds(phase.step.high) * lasting, phase.step.basis},
                    {},
                    {}};
  if (phase.energy) cost.energy = times(*phase.energy);
  if (phase.money) cost.money = times(*phase.money);
  return cost;
}

TrainingCost training_cost(std::span<const PricedPhase> phases, double work) {
  TrainingCost sum;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double left = work - sum.work;
    if (!(phases[i].work > 0) || !(left > 0)) break;
    const double wanted = left / phases[i].work;
    const bool last = i + 1 == phases.size();
    add_cost(sum,
             cost_of_steps(
                 phases[i],
                 last ? wanted : std::min(wanted, static_cast<double>(phases[i].phase.steps))));
  }
  return sum;
}

TrainingCost ramp_cost(std::span<const PricedPhase> phases) {
  TrainingCost sum;
  for (std::size_t i = 0; i + 1 < phases.size(); ++i)
    add_cost(sum, cost_of_steps(phases[i], static_cast<double>(phases[i].phase.steps)));
  return sum;
}

std::string ramp_sentence(const Result& result) {
  if (result.ramp.size() < 2) return "";
  const std::span<const PricedPhase> phases(result.ramp);
  const TrainingCost ramp = ramp_cost(phases), full = training_cost(phases.last(1), ramp.work);
  return fmt::format(
      "{} phases until sample {}{}: {} steps in {}, {:.3g} times as long as the same in full "
      "batches",
      phases.size(), phases.back().phase.first_sample,
      result.counts_tokens ? " (" + readable_count(ramp.work) + " tokens)" : "",
      phases.back().phase.first_step, long_time(ramp.seconds.value),
      full.seconds.value > 0 ? ramp.seconds.value / full.seconds.value : 0);
}

}  // namespace trainyard
