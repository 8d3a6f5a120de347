// fit: which levers bring a plan into a budget of memory, at what price in time and quality.
#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/plans/fit_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/plans/fit_chart.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/documents/plan_json.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

std::vector<Bound> levers_of(const Words& words) {
  std::vector<Bound> levers;
  for (const std::string& typed : words.texts("lever")) {
    const std::size_t equals = typed.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == typed.size())
      refuse_flag("lever", fmt::format("expected KEY=VALUES, as precision=bf16,fp16, found \"{}\"",
                                       typed.substr(0, 80)));
    levers.push_back({typed.substr(0, equals), typed.substr(equals + 1)});
  }
  return levers;
}

std::optional<FitTrials> trials_of(const FittedPlan& found, const Words& words,
                                   const InterruptStop& interrupt) {
  if (!words.has("steps")) {
    for (const char* flag : {"train", "data"})
      if (words.has(flag))
        refuse_flag(flag, "expected --steps N beside it, which trains both plans");
    return std::nullopt;
  }
  if (!found.chosen) return std::nullopt;  // the answer says so
  TrainingRequest request;
  for (const std::string& assignment : words.texts("train"))
    apply_training(request.training, assignment);
  request.training.steps = words.integer("steps", 1, 1'000'000'000, request.training.steps);
  request.data = words.text("data");
  request.run.stop = interrupt.token();
  return try_fit(found, request);
}

int run_fit(const Words& words, Streams& streams) {
  if (!words.has("budget"))
    refuse_flag("budget", "expected bytes of a device, as 2GiB, found none");
  FitQuestion question;
  question.budget = parse_bytes(words.text("budget"), {"--budget"});
  if (question.budget.value <= 0) refuse_flag("budget", "expected more than 0 bytes");
  question.levers = levers_of(words);
  question.kept = words.texts("keep");
  question.scenario = open_scenario(words, streams);
  if (words.has("steps")) expect_local(question.scenario);
  question.cost = prices_of_plans(prices_word(words));
  const InterruptStop interrupt;
  question.stop = interrupt.token();
  const FittedPlan found = fit_budget(question);
  const FitAnswer answer{found, trials_of(found, words, interrupt)};
  if (asks_for_picture(words)) write_picture(fit_picture(found), Theme::Dark, words, streams);
  if (words.has("fitted") && found.chosen)
    write_file(words.text("fitted"), plan_document(complete(fitted(found, *found.chosen))));
  deliver(words.has("json") ? fit_document(answer) : fit_text(answer), words, streams);
  return found.chosen ? kDone : kNotMet;
}

}  // namespace

Verb fit_verb() {
  std::vector<Flag> flags = {
      {"budget", "BYTES", "of each device, as 2GiB: what the plan is to fit in"},
      {"lever", "KEY=VALUES",
       "what a lever may be, as micro-batch=1,2,4, or a further one, as "
       "second-moment-dtype=fp32,fp16 or sparsity=off,0.95; else precision, gradient-dtype, "
       "first-moment-dtype, main-weights-dtype, optimizer (adamw's moments in 8 bits), "
       "micro-batch, recompute, offload, zero, flash-attention and sequence-parallel each have "
       "their usual values, and sparsity=0.9 is tried where nothing else is within the budget",
       true},
      {"keep", "KEY", "a lever that stays as the plan has it", true},
      {"steps", "N",
       "trains the plan and the fitted one for so many steps on this machine (--cluster cpu:N): "
       "measured peaks beside predicted ones, and what the budget costs in quality"},
      {"train", "KEY=VALUE", "as run takes it, beside --steps", true},
      {"data", "NAME", "as run takes it, beside --steps"},
      {"fitted", "FILE", "writes the fitted plan as a trainyard/plan file"},
      {"svg", "FILE",
       "draws memory by category, lever by lever, and beside it the front of memory and time"},
      {"png", "FILE", "the same as pixels, two a logical one"},
      calibration_flag(),
      cost_flag(),
      {"json", "", "one trainyard/fit@1 document and nothing else"}};
  return {.name = "fit",
          .summary = "Which levers bring a plan into a budget of memory, and what that costs.",
          .flags = with_scenario_flags(std::move(flags)),
          .examples = {"fit --model llama-3-8b --cluster h100-sxm:8 --set zero=1 --set "
                       "global-batch=64 --set micro-batch=8 --budget 60GiB",
                       "fit --model wrn-28-2 --cluster cpu:1 --set global-batch=100 --set "
                       "micro-batch=100 --set precision=fp32 --budget 40MiB --json"},
          .run = run_fit};
}

}  // namespace trainyard
