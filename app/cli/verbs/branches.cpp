// branches: measures on this machine what a layer gains if independent operators run beside each
// other, or as one; or prices that for a processor that is not at hand.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/branch_text.h"
#include "app/workspace/runs/branches/branch_chart.h"
#include "app/workspace/runs/branches/branch_document.h"
#include "app/workspace/runs/branches/branch_study.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

// Refused before anything is measured.
void expect_block(const Words& words, const Scenario& scenario) {
  if (!words.has("stages")) return;
  std::vector<std::string> names;
  for (const Block& block : scenario.model.blocks) names.push_back(block.name);
  const std::string name = words.text("stages");
  if (std::find(names.begin(), names.end(), name) == names.end())
    refuse_flag("stages", fmt::format("expected a kind of layer of {}, found \"{}\"{}",
                                      scenario.model.name, name, did_you_mean(name, names)));
}

// One of the names of an enum's values.
template <class E>
E enum_word(const Words& words, std::string_view flag, std::span<const std::string_view> names,
            E usual) {
  const std::string word = words.choice(flag, {names.begin(), names.end()}, to_string(usual));
  return static_cast<E>(std::find(names.begin(), names.end(), word) - names.begin());
}

OperatorPrices asked_prices(const Words& words) {
  const OperatorPrices prices =
      enum_word(words, "cost", kOperatorPrices,
                words.has("calibration") ? OperatorPrices::Calibrated : OperatorPrices::Measured);
  if (prices == OperatorPrices::Measured && words.has("calibration"))
    refuse_flag("calibration",
                "expected none beside --cost measured, whose times are measured now");
  if (prices != OperatorPrices::Measured && words.has("rounds"))
    refuse_flag("rounds", fmt::format("expected none beside --cost {}, which measures nothing",
                                      to_string(prices)));
  return prices;
}

// The words that say which scenario it is, on a core of this machine where none says more. --cost
// has a word of its own here, and no calibration decides anything of an opened plan.
Words scenario_words(const Words& words) {
  Words named;
  for (const char* flag : {"model", "cluster", "plan", "set", "quiet"})
    for (const std::string& text : words.texts(flag)) named.add(flag, text);
  if (!words.has("cluster")) named.add("cluster", local_cluster(1, {}).name);
  return named;
}

int run_branches(const Words& words, Streams& streams) {
  theme_of(words);  // refused before anything is measured
  BranchQuestion question;
  question.cores = static_cast<int>(words.integer("cores", 1, 1024, 0));
  question.rounds = static_cast<int>(words.integer("rounds", 1, 1000, question.rounds));
  question.strategy = enum_word(words, "strategy", kStageStrategies, question.strategy);
  question.prices = asked_prices(words);
  StageLimits& limits = question.limits;
  limits.group_size = static_cast<int>(words.integer("group-size", 1, 64, limits.group_size));
  limits.groups = static_cast<int>(words.integer("groups", 1, 64, limits.groups));
  const Scenario scenario = open_scenario(scenario_words(words), streams);
  expect_block(words, scenario);
  const InterruptStop interrupt;
  question.stop = interrupt.token();
  StatusLine status(words, streams);
  question.progress = [&](double share) {
    if (share >= 1)
      status.clear();
    else if (status.is_due())
      status.show(fmt::format("{} {:3.0f} %",
                              question.prices == OperatorPrices::Measured ? "measuring" : "pricing",
                              100 * share));
  };
  const BranchStudy study = branch_study(scenario, question, words.text("calibration"));
  const BranchPass* const shown =
      most_gaining(study, words.has("stages") ? words.text("stages") : "");
  write_table_and_picture(
      branch_table(study),
      [&] { return shown == nullptr ? Drawing({}) : stages_picture(stages_model(study, *shown)); },
      words, streams);
  deliver(words.has("json") ? branch_document(study) : branch_text(study, shown), words, streams);
  return kDone;
}

}  // namespace

Verb branches_verb() {
  std::vector<Flag> flags = with_scenario_flags(
      {{"cores", "N",
        "cores that share a layer, of this machine or of the processor that is priced; else all"},
       {"cost", "PRICES",
        "measured: operators and stages run here (default); roofline: nothing measured; "
        "calibrated: the kernels of --calibration, other shapes between them (default beside it); "
        "learned: other shapes by trees that learned from all of its kernels. All but measured run "
        "nothing and also price cpu-small:1 or cpu-generic:1"},
       calibration_flag(),
       {"rounds", "N", "of every measurement; else 31"},
       {"group-size", "N", "operators that may follow each other in a stage; else 16"},
       {"groups", "N", "groups that may run beside each other in a stage; else 8"},
       {"strategy", "WORD",
        "what the best stages may do with independent operators: concurrent (beside each other on "
        "the cores), merged (those of one input as one operator, on one core) or both; else both"},
       {"stages", "LAYER",
        "lists and draws the stages of that kind of layer, as the table names it; else of the one "
        "that gains most"},
       {"json", "", "one trainyard/branches@1 document, with the stages of all layers"}});
  for (const Flag& flag :
       table_and_picture_flags("every pass of each kind of layer as a row",
                               "draws the schedules of that pass there, beside the text"))
    flags.push_back(flag);
  return {.name = "branches",
          .summary =
              "Measures on this machine what layers gain if independent operators run beside each "
              "other or as one, or prices it for a processor, and finds the stages.",
          .flags = std::move(flags),
          .examples = {"branches --model inception-tiny --set precision=fp32 --set micro-batch=1 "
                       "--set global-batch=1 --rounds 5",
                       "branches --model inception-tiny --cluster cpu-small:1 --cost roofline "
                       "--set precision=fp32 --set micro-batch=1 --set global-batch=1 --cores 4"},
          .run = run_branches};
}

}  // namespace trainyard
