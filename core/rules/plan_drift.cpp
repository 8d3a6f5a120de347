// PlanDrift: a run whose steps take another time than was predicted.
#include <fmt/format.h>

#include <cmath>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// A step within the range that the prediction states is as predicted, however wide that range is.
void find_drift(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  if (facts.simulated || !facts.predicted || !(facts.step > Duration{})) return;
  if (facts.predicted_low && facts.predicted_high && facts.step >= *facts.predicted_low &&
      facts.step <= *facts.predicted_high)
    return;
  const double real = to_seconds(facts.step),
               drift = std::abs(to_seconds(*facts.predicted) - real) / real,
               limit = params.number("threshold");
  if (100 * drift > limit)
    fired.push_back(fired_on(-1, "step", 100 * drift, limit,
                             fmt::format("a step takes {} and was predicted to take {}: {} apart, "
                                         "more than {:g} %",
                                         readable_step(facts.step), readable_step(*facts.predicted),
                                         readable_share(drift), limit),
                             Instant{}));
}

}  // namespace

const Rule& plan_drift() {
  static const Rule made = {
      .name = "plan-drift",
      .summary = "the step takes another time than the plan predicted, beyond its range",
      .advice =
          "prices that are measured here: \"trainyard calibrate --out FILE\", then "
          "--calibration FILE",
      .reads = RuleReads::Timeline,
      .params = {{"threshold", 20.0, "most difference, in % of the real step", 0, 1e6}},
      .of_timeline = find_drift};
  return made;
}

}  // namespace trainyard
