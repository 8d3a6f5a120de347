// A training stops now and then to be evaluated on held-out samples, which is a part of the time
// until it has reached a quality. One replica may evaluate while the others wait; or all evaluate a
// part each and add up what they found, a few numbers.
//
//   one          replica 0   train | evaluate all samples          | train
//                replica 1   train |            waits              | train
//   distributed  replica 0   train | half | train
//                replica 1   train | half | train
//
// Evaluation is a forward of each sample and nothing else. It takes the pipeline's filling and the
// slowest stage once for each microbatch (core/estimate/evaluation_time.h). Steps are as they were:
// what it adds is counted in the time to train.
//
// Kumar et al., "Scale MLPerf-0.6 models on Google TPU-v3 Pods", arXiv 1909.09756, 2019.
#include "core/methods/data/evaluation.h"

#include <fmt/format.h>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

constexpr std::string_view kOne = "one", kDistributed = "distributed", kEvery = "every",
                           kSamples = "samples";

Diagnostics check_evaluation(const Scenario& s, const Params& params) {
  Diagnostics found;
  const auto add = [&](Diagnostic::Severity severity, std::string sentence, std::string fix) {
    found.push_back({severity, std::move(sentence), {"plan#/choices/evaluation"}, std::move(fix)});
  };
  const std::string& by = params.text(kEvaluators);
  if (by == kNoEvaluation) {
    add(Diagnostic::Severity::Warning,
        "the plan says how a training is evaluated, and with evaluation=none it never is: nothing "
        "changes",
        "evaluation=distributed");
    return found;
  }
  const Method& schedule = schedule_of(s.plan);
  if (schedule.settles != nullptr)
    add(Diagnostic::Severity::Error,
        fmt::format("a training is evaluated between steps, when no microbatch is under way, and "
                    "{} updates while microbatches are under way",
                    schedule.name),
        "schedule=1f1b");
  if (by == kOne && *s.plan.mesh.dp > 1 && find_choice(s.plan, "zero") != nullptr &&
      find_choice(s.plan, "zero")->params.integer("stage") == 3)
    add(Diagnostic::Severity::Error,
        "one replica evaluates while the others wait, and with zero=3 it has only a part of the "
        "weights",
        "evaluation=distributed");
  return found;
}

}  // namespace

std::optional<EvaluationPlan> evaluation_of(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kEvaluation);
  if (chosen == nullptr) return std::nullopt;
  const Params params = with_defaults(chosen->params, method(kEvaluation).params);
  const std::string& by = params.text(kEvaluators);
  if (by == kNoEvaluation) return std::nullopt;
  EvaluationPlan made;
  made.distributed = by == kDistributed;
  made.every = params.integer(kEvery);
  made.samples = params.integer(kSamples);
  made.replicas = made.distributed ? plan.mesh.dp.value_or(1) : 1;
  return made;
}

Method evaluation() {
  return {
      .name = kEvaluation,
      .axis = MethodAxis::Data,
      .summary = "Evaluates held-out samples every so many steps, on one replica or on all.",
      .paper = {"Scale MLPerf-0.6 models on Google TPU-v3 Pods", "Kumar et al.", "arXiv 1909.09756",
                2019},
      .card = {.gains = "the time to train counts what the training stops for; replicas that share "
                        "an evaluation make it as many times shorter as they are",
               .costs = "a forward of every held-out sample, once in `every` steps, in which "
                        "nothing is learnt",
               .legal_when = "updates are between steps; evaluation=one: zero is below 3"},
      .file = "core/methods/data/evaluation.cpp",
      .params = {{.name = kEvaluators,
                  .fallback = std::string(kNoEvaluation),
                  .doc =
                      "who evaluates: nobody (none), one replica while others wait (one), or all "
                      "replicas a part each (distributed)",
                  .values = {kNoEvaluation, kOne, kDistributed}},
                 {.name = kEvery,
                  .fallback = std::int64_t{1000},
                  .doc = "steps from one evaluation to the next",
                  .low = 1,
                  .high = 1e9},
                 {.name = kSamples,
                  .fallback = std::int64_t{10'000},
                  .doc = "held-out samples of an evaluation",
                  .low = 1,
                  .high = 1e12}},
      .check = check_evaluation,
  };
}

}  // namespace trainyard
