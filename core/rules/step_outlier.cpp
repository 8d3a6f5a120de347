// StepOutlier: steps that take much longer than their like, again and again.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/median.h"
#include "core/base/units_text.h"
#include "core/rules/catalogue.h"
#include "core/timeline/stragglers.h"

namespace trainyard {
namespace {

void find_outliers(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  if (facts.steps.empty()) return;
  const Duration typical = median(facts.steps);
  const double slower = 1 + params.number("slower") / 100;
  std::vector<std::size_t> outliers = outlying_steps(facts.steps);
  std::erase_if(outliers, [&](std::size_t s) {
    return to_seconds(facts.steps[s]) < slower * to_seconds(typical);
  });
  const auto limit = static_cast<std::size_t>(params.integer("outliers"));
  if (outliers.size() <= limit) return;
  const std::size_t worst = *std::max_element(
      outliers.begin(), outliers.end(),
      [&](std::size_t a, std::size_t b) { return facts.steps[a] < facts.steps[b]; });
  FiredRule found = fired_on(
      -1, "steps", static_cast<double>(outliers.size()), static_cast<double>(limit),
      fmt::format("{} of {} steps take at least {:g} % more than the median step of {}, more than "
                  "{} of them; the longest, the {}th, takes {}",
                  outliers.size(), facts.steps.size(), params.number("slower"),
                  readable_step(typical), limit, worst + 1, readable_step(facts.steps[worst])));
  if (worst < facts.step_begins.size()) found.at = facts.step_begins[worst];
  fired.push_back(std::move(found));
}

}  // namespace

const Rule& step_outlier() {
  static const Rule made = {
      .name = "step-outlier",
      .summary = "many steps take much longer than the median step",
      .advice = "an input, a checkpoint or another program that takes time now and then",
      .reads = RuleReads::Timeline,
      .params =
          {{"outliers", std::int64_t{10}, "most such steps", 0, 1000000000},
           {"slower", 50.0,
            "least that an outlier takes more than the median step, in %; it also stands four "
            "spreads out",
            0, 1e6}},
      .of_timeline = find_outliers};
  return made;
}

}  // namespace trainyard
