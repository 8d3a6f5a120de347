// Judges a training run by rules: those that watched it step by step, and those that read its
// timeline when it had ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "core/result/experiment.h"
#include "core/rules/left_out.h"
#include "core/rules/rule_run.h"

namespace trainyard {

struct RuleReport {
  std::string rules;  // as --rules takes them
  std::int64_t interval = 0;
  bool stops = false;
  std::vector<LeftOutRules> left_out;
  std::vector<FiredRule> fired;
  // Where a rule ended the run: after which step, and what that saved of the steps that were asked
  // for, by the median step.
  std::int64_t stopped_at = 0, saved_steps = 0;
  Duration saved{};
};

/// Throws Error{InvalidInput} where rules are to stop a run that has no steps at which it could
/// end.
void expect_watchable(const RuleWatch&, const Workload&, bool updates_together);

/// Reports what fired while the run went on, and on its timeline; `measured` is null where no step
/// was measured whole. The report says of `run` all but what was asked.
RuleReport judge_run(const RuleWatch&, const Experiment& predicted, const Experiment* measured,
                     const BackendRun&, Duration median_step, const RunSight&);

/// "after step 50 of 400, which saved 350 steps, 12.3 s".
std::string stop_sentence(const RuleReport&);

}  // namespace trainyard
