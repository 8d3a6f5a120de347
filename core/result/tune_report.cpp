#include "core/result/tune_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"

namespace trainyard {

std::string_view to_string(TuneGoal goal) {
  switch (goal) {
    case TuneGoal::Time:
      return "time";
    case TuneGoal::Memory:
      return "memory";
    case TuneGoal::Money:
      return "money";
    case TuneGoal::Loss:
      return "loss";
  }
  return "";
}

std::string_view goal_name(TuneGoal goal) {
  switch (goal) {
    case TuneGoal::Time:
      return "step";
    case TuneGoal::Money:
      return "money per step";
    case TuneGoal::Memory:
    case TuneGoal::Loss:
      return to_string(goal);
  }
  return "";
}

std::string goal_text(TuneGoal goal, double value) {
  switch (goal) {
    case TuneGoal::Time:
      return readable_step(seconds(value));
    case TuneGoal::Memory:
      return readable(Bytes{static_cast<std::int64_t>(value)});
    case TuneGoal::Money:
      return fmt::format("${:.5g}", value);
    case TuneGoal::Loss:
      return fmt::format("{:.5g}", value);
  }
  return "";
}

std::string family_words(const TuneArm& arm) {
  std::string text = arm.settings;
  std::replace(text.begin(), text.end(), '=', ' ');
  return text;
}

std::string trial_words(const TuneReport& report, const TuneTrial& trial) {
  std::string text = family_words(report.arms[trial.arm]);
  const auto add = [&](std::string word, const char* behind) {
    std::replace(word.begin(), word.end(), '=', ' ');
    text += (text.empty() ? "" : ", ") + word + behind;
  };
  for (const std::string& word : trial.set) add(word, "");
  for (const std::string& word : trial.train) add(word, " of training");
  return text.empty() ? "the plan as it is" : text;
}

std::string trial_remark(const TuneTrial& trial) {
  std::string text;
  const auto add = [&](const std::string& words) {
    if (!words.empty()) text += (text.empty() ? "" : "; ") + words;
  };
  if (trial.better) add("best so far");
  if (trial.together > 1) add(fmt::format("one of {} together", trial.together));
  add(trial.why_not);
  if (trial.why_alone != trial.why_not)
    add(trial.why_alone.empty() ? "" : "alone: " + trial.why_alone);
  return text;
}

}  // namespace trainyard
