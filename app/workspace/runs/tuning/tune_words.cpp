#include "app/workspace/runs/tuning/tune_words.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

// The settings of training that are not as usual, without the number of updates.
std::vector<std::string> changed_training(const Training& training) {
  std::vector<std::string> words;
  for (const TrainingKey& key : training_keys())
    if (const std::string value = key.read(training);
        key.key != "steps" && value != key.read(Training{}))
      words.push_back(fmt::format("{}={}", key.key, value));
  return words;
}

std::string trials_word(std::int64_t count) {
  return count == 1 ? "1 trial was" : fmt::format("{} trials were", count);
}

// The best of what was trained ahead, as a trial.
TuneTrial ahead_trial(const TuneFusion& fusion) {
  TuneTrial ahead;
  ahead.arm = fusion.ahead_arm;
  ahead.set = fusion.ahead_set, ahead.train = fusion.ahead_train;
  return ahead;
}

}  // namespace

std::vector<std::string> parse_families(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&] {
    refuse_flag("arms", fmt::format("expected KEY=WORD,WORD as schedule=1f1b,zb-h1, found \"{}\"",
                                    text.substr(0, 80)));
  };
  if (equals == std::string_view::npos || equals == 0) refuse();
  std::vector<std::string> families;
  for (std::size_t from = equals + 1; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    if (end == from) refuse();
    families.push_back(
        fmt::format("{}{}", text.substr(0, equals + 1), text.substr(from, end - from)));
    from = end + 1;
  }
  return families;
}

std::vector<std::string> plan_settings(const TuneReport& report, const TuneTrial& trial) {
  std::vector<std::string> settings;
  for (const std::string_view word : each_word(report.arms[trial.arm].settings))
    settings.emplace_back(word);
  settings.insert(settings.end(), trial.set.begin(), trial.set.end());
  return settings;
}

std::string flag_words(const TuneReport& report, const TuneTrial& trial) {
  std::vector<std::string> words;
  for (const std::string& word : plan_settings(report, trial))
    words.push_back("--set " + shell_word(word));
  for (const std::string& word : trial.train) words.push_back("--train " + shell_word(word));
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> training_words(const TuneRequest& request, const TuneTrial& trial) {
  Training training = request.training;
  for (const std::string& word : trial.train) apply_training(training, word);
  return changed_training(training);
}

std::string tune_command(const TuneRequest& request) {
  std::string command = "trainyard tune";
  const auto add = [&](const char* flag, const std::string& word) {
    if (!word.empty()) command += fmt::format(" --{} {}", flag, shell_word(word));
  };
  const auto add_each = [&](const char* flag, const std::vector<std::string>& words) {
    for (const std::string& word : words) add(flag, word);
  };
  add("model", request.base.model);
  add("cluster", request.base.cluster);
  add("plan", request.base.plan);
  add_each("set", request.base.settings);
  add_each("vary", request.vary);
  add_each("arm", request.arms);
  add("objective", std::string(to_string(request.goal)));
  if (request.measure) command += " --measure";
  add_each("train", changed_training(request.training));
  add("steps", std::to_string(request.training.steps));
  add("data", request.data);
  if (request.fuse) add("fuse", *request.fuse > 0 ? std::to_string(*request.fuse) : "auto");
  add("trials", std::to_string(request.options.most_evaluations));
  if (std::isfinite(request.options.most_cost)) add("budget", to_text(request.options.most_cost));
  add("seed", std::to_string(request.options.seed));
  add("calibration", request.calibration);
  return command;
}

std::vector<std::string> fusion_sentences(const TuneReport& report) {
  std::vector<std::string> said;
  if (!report.fusion) return said;
  const TuneFusion& f = *report.fusion;
  said.push_back(fmt::format("{} of {} trials were trained together, in {} {}.", f.trials,
                             report.trials.size(), f.runs, f.runs == 1 ? "run" : "runs"));
  if (f.unneeded > 0)
    said.push_back(fmt::format("Another {} trained ahead in {}, and the search went elsewhere.",
                               trials_word(f.unneeded), readable(seconds(f.unneeded_seconds))));
  if (f.ahead_value)
    said.push_back(
        fmt::format("The best of what was trained ahead is better than every trial: {} "
                    "with {}.",
                    goal_text(report.goal, *f.ahead_value), trial_words(report, ahead_trial(f))));
  std::map<std::string, int> alone;  // by reason
  for (const TuneTrial& t : report.trials)
    if (!t.why_alone.empty()) ++alone[t.why_alone];
  for (const auto& [why, count] : alone)
    said.push_back(fmt::format("{} trained alone: {}.", trials_word(count), why));
  if (!f.priced.empty()) {
    std::string gains;
    for (const FusedGain& one : f.priced)
      gains += gains.empty() ? fmt::format(
                                   "As predicted, {} jobs together have {:.1f} times the "
                                   "samples per second of one after another",
                                   one.jobs, one.gain)
                             : fmt::format(", {} jobs {:.1f} times", one.jobs, one.gain);
    said.push_back(gains + ".");
  }
  if (!f.predicted) return said;
  said.push_back(f.gain
                     ? fmt::format("{} jobs together have {:.1f} times the samples per second of "
                                   "one after another; {:.1f} times was predicted.",
                                   f.jobs, *f.gain, *f.predicted)
                     : fmt::format("{} jobs together are predicted to have {:.1f} times the "
                                   "samples per second of one after another; so few updates "
                                   "cannot measure it.",
                                   f.jobs, *f.predicted));
  if (f.would_fit)
    said.push_back(fmt::format("{} jobs would fit in the memory of the device.", *f.would_fit));
  return said;
}

}  // namespace trainyard
