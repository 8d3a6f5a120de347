// tune: tries settings of a scenario where the next improvement is cheapest, by simulation or by
// real training.
#include <ostream>

#include "app/cli/interrupt.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/tune_text.h"
#include "app/workspace/runs/fused_trials.h"
#include "app/workspace/runs/tuning/tune_document.h"
#include "app/workspace/runs/tuning/tune_words.h"
#include "app/workspace/scenario/refuse_flag.h"

namespace trainyard {
namespace {

TuneRequest tuning_of(const Words& words) {
  TuneRequest request;
  request.base = {words.text("model"), words.text("cluster"), words.text("plan"),
                  words.texts("set")};
  request.vary = words.texts("vary");
  for (const std::string& text : words.texts("arms"))
    for (const std::string& family : parse_families(text)) request.arms.push_back(family);
  for (const std::string& text : words.texts("arm")) request.arms.push_back(text);
  const std::string goal = words.choice("objective", {"time", "memory", "money", "loss"}, "time");
  for (const TuneGoal known : kTuneGoals)
    if (to_string(known) == goal) request.goal = known;
  request.measure = words.has("measure");
  if (!request.measure)
    for (const char* flag : {"train", "data"})
      if (words.has(flag)) refuse_flag(flag, "expected --measure beside it, which trains for real");
  for (const std::string& assignment : words.texts("train"))
    apply_training(request.training, assignment);
  request.training.steps = words.integer("steps", 1, 1'000'000, request.measure ? 20 : 1);
  request.data = words.text("data");
  request.calibration = prices_word(words);
  if (request.measure && !request.calibration.empty())
    refuse_flag("calibration", "expected none with --measure: nothing is predicted");
  request.options.most_evaluations = words.integer("trials", 1, 1'000'000, 100);
  if (words.has("budget")) request.options.most_cost = words.number("budget", 1e-9, 1e12, 1);
  request.options.seed = static_cast<std::uint64_t>(words.integer("seed", 0, INT64_MAX, 0));
  if (const std::string most = words.text("fuse"); words.has("fuse"))
    request.fuse = most.empty() || most == "auto"
                       ? 0
                       : static_cast<int>(words.integer("fuse", 2, FusedTrials::kMostJobs, 2));
  return request;
}

int run_tune(const Words& words, Streams& streams) {
  TuneRequest request = tuning_of(words);
  const InterruptStop interrupt;
  request.options.stop = interrupt.token();
  if (!words.has("quiet"))
    request.progress = [&](const TuneReport& now) {
      const TuneTrial& trial = now.trials.back();
      if (trial.better)
        streams.err << "trial " << now.trials.size() << ": " << goal_text(now.goal, *trial.value)
                    << "  " << flag_words(now, trial) << std::endl;
    };
  const TuneReport report = tune(request);
  deliver(words.has("json") ? tune_document(report) : tune_text(report), words, streams);
  return report.best ? kDone : kNotMet;
}

}  // namespace

Verb tune_verb() {
  return {
      .name = "tune",
      .summary =
          "Tunes settings of a plan, or of training: cheap trials first, the best so far "
          "against what they cost.",
      .flags = with_scenario_flags(
          {{"vary", "KEY=RANGE",
            "a setting and its values: micro-batch=1..64, tp=1,2,4,8 or, with --measure, "
            "train.rate=1e-4..0.1; the search begins at the first, or at what follows a @",
            true},
           {"arms", "KEY=WORD,...", "families of settings: one a word, as schedule=1f1b,zb-h1",
            true},
           {"arm", "SETTINGS", "one more family, as \"schedule=interleaved virtual-stages=2\"",
            true},
           {"objective", "GOAL", "time of a step (default), memory, money or, measured, loss"},
           {"measure", "", "trains for real on this machine, on --cluster cpu:N"},
           {"steps", "N", "updates of a trial: 1, measured 20"},
           {"train", "KEY=VALUE", "measured: one setting of training, as in run", true},
           {"data", "NAME", "measured: what is trained on, as in run"},
           {"fuse", "[B|auto]",
            "with --measure and --objective loss: trials that differ in train.* alone are trained "
            "as "
            "one program, B at once, or as many as fit and pay (auto, the default)"},
           {"trials", "N", "at most so many (default 100)"},
           {"budget", "SECONDS",
            "and at most so much cost: what trials took, simulated ones what they would take"},
           {"seed", "N", "of the search; the same gives the same trials"},
           calibration_flag(),
           cost_flag(),
           {"json", "", "one trainyard/tune@1 document and nothing else"}}),
      .examples = {"tune --model llama-3-8b --cluster h100-sxm:8 --set global-batch=64 --vary "
                   "micro-batch=1..16 --vary tp=1,2,4,8 --arms recompute=none,full --trials 30",
                   "tune --model mlp-small --cluster cpu:1 --set global-batch=64 --set "
                   "precision=fp32 --measure --data random --objective loss --steps 5 --trials 4 "
                   "--vary train.rate=1e-3..1 --json",
                   "tune --model mlp-small --cluster cpu:1 --set global-batch=32 --set "
                   "micro-batch=32 --set precision=fp32 --measure --data random --objective loss "
                   "--steps 20 --trials 8 --vary train.rate=1e-3..1 --fuse 4"},
      .run = run_tune};
}

}  // namespace trainyard
