#include "app/workspace/runs/run_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/methods/catalogue.h"
#include "core/result/verdict.h"
#include "core/rules/fired_places.h"

namespace trainyard {
namespace {

TimelineFacts facts_of_run(const Experiment& predicted, const Experiment& measured,
                           const BackendRun& run, Duration median_step) {
  const Result& result = measured.result;
  TimelineFacts facts = facts_for_rules(
      result, measured.timeline, measured.waves,
      breakdowns(measured.timeline, measured.program, measured.prices.recompute_share));
  facts.steps = run.step_times;
  facts.step = median_step;
  // The samples of a run are at hand, whatever the plan says of a node that reads them.
  const Banded<Duration>& step = predicted.result.step;
  const Duration input = predicted.result.breakdown.input;
  facts.predicted = step.value - input;
  facts.predicted_low = step.low - input;
  facts.predicted_high = step.high - input;
  if (!run.staleness.empty()) facts.staleness = static_cast<double>(run.staleness.size() - 1);
  return facts;
}

}  // namespace

void expect_watchable(const RuleWatch& watch, const Workload& workload, bool updates_together) {
  if (!watch.stops || updates_together) return;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected report beside {}, whose steps overlap so that a run ends with "
                          "all of them, found stop",
                          schedule_of(workload.scenario.plan).name),
              {"--on-rule"});
}

RuleReport judge_run(const RuleWatch& watch, const Experiment& predicted,
                     const Experiment* measured, const BackendRun& run, Duration median_step,
                     const RunSight& sight) {
  RuleReport report{to_text(watch.rules), watch.interval, watch.stops,
                    left_out(watch.rules, predicted.workload, sight), run.rules};
  if (measured != nullptr) {
    for (FiredRule& one :
         judge_timeline(watch.rules, facts_of_run(predicted, *measured, run, median_step))) {
      const bool known = std::any_of(
          report.fired.begin(), report.fired.end(),
          [&](const FiredRule& f) { return f.rule == one.rule && f.device == one.device; });
      if (!known) report.fired.push_back(std::move(one));
    }
    find_places(report.fired, measured->program, measured->timeline);
  }
  report.stopped_at = run.stopped_by_rule;
  return report;
}

std::string stop_sentence(const RuleReport& report) {
  return fmt::format("after step {} of {}, which saved {} steps, {}", report.stopped_at,
                     report.stopped_at + report.saved_steps, report.saved_steps,
                     readable(report.saved));
}

}  // namespace trainyard
