// The words of a study of branches.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/workspace/runs/branches/branch_study.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr double kLoses = 0.95;

double times_as_fast(const RunSchedule& slow, const RunSchedule& quick) {
  return to_seconds(std::max(Duration{1}, slow.taken())) /
         to_seconds(std::max(Duration{1}, quick.taken()));
}

double gain_of_merging(const BranchPass& pass) { return times_as_fast(pass.concurrent, pass.best); }

// "backward of stem"
std::string pass_words(const BranchPass& pass) {
  return fmt::format("{} of {}", direction(pass), pass.block);
}

// Says how equal the numbers are that measured schedules leave.
void say_numbers(const BranchStudy& study, std::vector<std::string>& sentences) {
  double difference = 0;
  for (const BranchPass& pass : study.passes)
    difference = std::max(difference, pass.merged_difference);
  const bool same = std::all_of(study.passes.begin(), study.passes.end(),
                                [](const BranchPass& pass) { return pass.same_bits; });
  const std::string_view all =
      difference > 0 ? "All schedules that merge nothing leave" : "All schedules leave";
  sentences.push_back(same ? fmt::format("{} the same numbers, bit for bit.", all)
                           : "The schedules leave different numbers, which is an error of this "
                             "program.");
  if (difference > 0)
    sentences.push_back(
        difference <= kMostMergedDifference
            ? fmt::format("Merged operators sum in another order: their numbers are within {:.1g} "
                          "of these, of the largest of each tensor.",
                          difference)
            : fmt::format("Merged operators leave numbers that are {:.1g} off, of the largest of a "
                          "tensor, which is an error of this program.",
                          difference));
}

void say_prices(const BranchStudy& study, std::vector<std::string>& sentences) {
  constexpr std::string_view kBy[] = {
      "", "a roofline, which nothing was measured for",
      "the measured kernels of the calibration and, for other shapes, between them",
      "trees that learned from the measured kernels of the calibration"};
  sentences.push_back(
      fmt::format("Nothing was run here: operators, also merged ones, are priced "
                  "by {}. Left out: {}.",
                  kBy[static_cast<std::size_t>(study.prices)], fmt::join(study.leaves_out, "; ")));
}

}  // namespace

std::string branch_command(const Request& request, const BranchQuestion& question) {
  std::string command = "trainyard branches --model " + shell_word(request.model);
  if (request.cluster != local_cluster(1, {}).name)
    command += " --cluster " + shell_word(request.cluster);
  for (const std::string& word : request.settings) command += " --set " + shell_word(word);
  const BranchQuestion usual;
  const auto add = [&](const char* flag, int value, int left_out) {
    if (value != left_out) command += fmt::format(" --{} {}", flag, value);
  };
  add("cores", question.cores, usual.cores);
  add("rounds", question.rounds, usual.rounds);
  add("group-size", question.limits.group_size, usual.limits.group_size);
  add("groups", question.limits.groups, usual.limits.groups);
  if (question.strategy != usual.strategy)
    command += fmt::format(" --strategy {}", to_string(question.strategy));
  if (question.prices == usual.prices) return command;
  if (question.prices != OperatorPrices::Roofline)
    command += " --calibration " + shell_word(request.calibration);
  command += fmt::format(" --cost {}", to_string(question.prices));
  return command;
}

std::string_view direction(const BranchPass& pass) {
  return pass.backward ? "backward" : "forward";
}

const std::string& operator_name(const BranchPass& pass, int op) {
  const auto at = static_cast<std::size_t>(op);
  const std::size_t operators = pass.graph.operators.size();
  return at < operators ? pass.graph.operators[at].name : pass.graph.merges[at - operators].name;
}

std::vector<std::pair<std::string_view, const RunSchedule*>> schedules_of(const BranchPass& pass) {
  std::vector<std::pair<std::string_view, const RunSchedule*>> list;
  const std::pair<std::string_view, const RunSchedule*> all[] = {
      {"one after another", &pass.sequential},
      {"greedy", &pass.greedy},
      {"concurrent", &pass.concurrent},
      {"merged", &pass.merged},
      {"best", &pass.best}};
  for (const auto& one : all)
    if (!one.second->schedule.stages.empty()) list.push_back(one);
  return list;
}

bool merges_operators(const BranchPass& pass, const RunSchedule& run) {
  for (const OperatorStage& stage : run.schedule.stages)
    for (const OperatorGroup& group : stage.as_run())
      for (const int one : group)
        if (static_cast<std::size_t>(one) >= pass.graph.operators.size()) return true;
  return false;
}

double gain_of(const BranchPass& pass) { return times_as_fast(pass.sequential, pass.best); }

const BranchPass* most_gaining(const BranchStudy& study, std::string_view block) {
  const BranchPass* most = nullptr;
  for (const BranchPass& pass : study.passes)
    if ((block.empty() || pass.block == block) &&
        (most == nullptr || gain_of(pass) > gain_of(*most)))
      most = &pass;
  return most;
}

std::vector<std::string> branch_sentences(const BranchStudy& study) {
  std::vector<std::string> sentences;
  Duration sequential{}, quickest{};
  std::vector<std::string> slower;  // passes whose best stages lose by more than the noise
  bool merges = false;
  const BranchPass* by_merging = nullptr;
  for (const BranchPass& pass : study.passes) {
    sequential += pass.sequential.taken() * pass.layers;
    Duration least = Duration::max();
    for (const auto& [name, run] : schedules_of(pass)) least = std::min(least, run->taken());
    quickest += least * pass.layers;
    if (gain_of(pass) < kLoses) slower.push_back(pass_words(pass));
    if (!merges_operators(pass, pass.best)) continue;
    merges = true;
    if (!pass.concurrent.schedule.stages.empty() &&
        (by_merging == nullptr || gain_of_merging(pass) > gain_of_merging(*by_merging)))
      by_merging = &pass;
  }
  const BranchPass* const most = most_gaining(study);
  if (most == nullptr) return {"No layer has two operators, so that there is nothing to schedule."};
  sentences.push_back(fmt::format(
      "The {} gains most: {:.2f} times as fast in {} stage{} as one operator after another.",
      pass_words(*most), gain_of(*most), most->best.schedule.stages.size(),
      most->best.schedule.stages.size() == 1 ? "" : "s"));
  sentences.push_back(fmt::format(
      "All layers of a microbatch take {} one operator after another and {} where each "
      "pass runs as it is quickest, {:.2f} times as fast.",
      readable(sequential), readable(quickest), to_seconds(sequential) / to_seconds(quickest)));
  if (!slower.empty())
    sentences.push_back(fmt::format(
        "Best by prediction and yet slower than one operator after another: the stages of the {}. "
        "Either its operators are too short to be handed to other cores, or something else kept "
        "these busy.",
        fmt::join(slower, ", of the ")));
  if (study.strategy != StageStrategy::Concurrent && !study.in_floats)
    sentences.push_back(
        "Operators are merged in 4-byte floats alone, and tensors of this plan are in another "
        "format, so that none is merged; --set precision=fp32 has them in 4-byte floats.");
  else if (study.strategy != StageStrategy::Concurrent && !merges)
    sentences.push_back(
        "No stages have merged operators: none of one input are alike, or they take less apart.");
  if (by_merging != nullptr)
    sentences.push_back(
        fmt::format("Merged operators gain most in the {}: {:.2f} times as fast as the best stages "
                    "that merge nothing.",
                    pass_words(*by_merging), gain_of_merging(*by_merging)));
  study.measured() ? say_numbers(study, sentences) : say_prices(study, sentences);
  return sentences;
}

}  // namespace trainyard
