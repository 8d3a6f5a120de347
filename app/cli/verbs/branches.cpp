// branches: measures on this machine what a layer gains if independent operators run beside each
// other, or as one.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/branch_text.h"
#include "app/cli/text/scenario_words.h"
#include "app/workspace/runs/branch_chart.h"
#include "app/workspace/runs/branch_document.h"
#include "app/workspace/runs/branch_study.h"
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

int run_branches(const Words& words, Streams& streams) {
  theme_of(words);  // refused before anything is measured
  BranchQuestion question;
  question.cores = static_cast<int>(words.integer("cores", 1, 1024, 0));
  question.rounds = static_cast<int>(words.integer("rounds", 1, 1000, question.rounds));
  const std::string strategy =
      words.choice("strategy", {std::begin(kStageStrategies), std::end(kStageStrategies)},
                   to_string(question.strategy));
  question.strategy = static_cast<StageStrategy>(
      std::find(std::begin(kStageStrategies), std::end(kStageStrategies), strategy) -
      std::begin(kStageStrategies));
  StageLimits& limits = question.limits;
  limits.group_size = static_cast<int>(words.integer("group-size", 1, 64, limits.group_size));
  limits.groups = static_cast<int>(words.integer("groups", 1, 64, limits.groups));
  Words with_cluster = words;
  if (!words.has("cluster")) with_cluster.add("cluster", local_cluster(1, {}).name);
  const Scenario scenario = open_scenario(with_cluster, streams);
  expect_block(words, scenario);
  const InterruptStop interrupt;
  question.stop = interrupt.token();
  StatusLine status(words, streams);
  question.progress = [&](double share) {
    if (share >= 1)
      status.clear();
    else if (status.is_due())
      status.show(fmt::format("measuring {:3.0f} %", 100 * share));
  };
  const BranchStudy study = branch_study(scenario, question);
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
      {{"cores", "N", "cores of this machine that share a layer; else all"},
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
              "other or as one, and finds the stages.",
          .flags = std::move(flags),
          .examples = {"branches --model inception-tiny --set precision=fp32 --set micro-batch=1 "
                       "--set global-batch=1 --rounds 5"},
          .run = run_branches};
}

}  // namespace trainyard
