#include "app/cli/text/runs/tune_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/workspace/runs/tuning/tune_words.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string settings_text(const TuneTrial& trial) {
  std::vector<std::string> words = trial.set;
  for (const std::string& word : trial.train) words.push_back("train." + word);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string cost_text(double cost) { return readable(seconds(cost)); }

std::string trials_text(const TuneReport& report) {
  std::size_t family = 6, settings = 8;
  for (const TuneArm& arm : report.arms) family = std::max(family, arm.settings.size());
  for (const TuneTrial& t : report.trials) settings = std::max(settings, settings_text(t).size());
  const bool families = report.arms.size() > 1;
  const std::size_t figure = std::max<std::size_t>(9, goal_name(report.goal).size());
  std::string text = fmt::format("{:>4}  ", "#");
  if (families) text += fmt::format("{:<{}}  ", "family", family);
  text += fmt::format("{:<{}}  {:>{}}  {:>9}  {:>9}\n", "settings", settings,
                      goal_name(report.goal), figure, "cost", "so far");
  for (std::size_t i = 0; i < report.trials.size(); ++i) {
    const TuneTrial& t = report.trials[i];
    text += fmt::format("{:>4}  ", i + 1);
    if (families) text += fmt::format("{:<{}}  ", report.arms[t.arm].settings, family);
    text += fmt::format("{:<{}}  {:>{}}  {:>9}  {:>9}", settings_text(t), settings,
                        t.value ? goal_text(report.goal, *t.value) : "-", figure, cost_text(t.cost),
                        cost_text(t.spent));
    if (const std::string remark = trial_remark(t); !remark.empty()) text += "  " + remark;
    text += "\n";
  }
  return text;
}

// Lists each improvement and the share of the cost at which it was found.
std::string course_text(const TuneReport& report) {
  std::string text = "\nbest so far against cost\n";
  for (std::size_t i = 0; i < report.trials.size(); ++i)
    if (const TuneTrial& t = report.trials[i]; t.better)
      text += fmt::format("  {:>5.1f} %  {:>9}  {:>9}  (#{})\n",
                          report.spent() > 0 ? 100 * t.spent / report.spent() : 0,
                          cost_text(t.spent), goal_text(report.goal, *t.value), i + 1);
  return text;
}

std::string arms_text(const TuneReport& report) {
  if (report.arms.size() < 2) return "";
  std::size_t family = 6;
  for (const TuneArm& arm : report.arms) family = std::max(family, arm.settings.size());
  std::string text = fmt::format("\n{:<{}}  {:>6}  {:>9}  {:>6}  {:>9}\n", "family", family,
                                 "trials", "cost", "share", "best");
  for (const TuneArm& arm : report.arms)
    text +=
        fmt::format("{:<{}}  {:>6}  {:>9}  {:>4.0f} %  {:>9}\n", arm.settings, family, arm.trials,
                    cost_text(arm.spent), report.spent() > 0 ? 100 * arm.spent / report.spent() : 0,
                    arm.best ? goal_text(report.goal, *arm.best) : "-");
  return text;
}

}  // namespace

std::string tune_text(const TuneReport& report) {
  std::string text =
      fmt::format("{} on {}: {} {}\n\n", report.model, report.cluster, to_string(report.goal),
                  report.measured ? "measured" : "simulated");
  text += trials_text(report);
  if (report.best) text += course_text(report);
  text += arms_text(report);
  const std::vector<std::string> fusion = fusion_sentences(report);
  if (!fusion.empty()) text += fmt::format("\n{}\n", fmt::join(fusion, "\n"));
  text += fmt::format("\n{} trials, {}{}\n", report.trials.size(), cost_text(report.spent()),
                      report.stopped     ? ", stopped"
                      : report.exhausted ? ", nothing is left to try"
                                         : "");
  if (report.trials.empty()) return text + "It was stopped before the first trial was done.\n";
  if (!report.best) return text + "No trial has a value: none is legal and fits.\n";
  const TuneTrial& best = report.trials[*report.best];
  return text + fmt::format("best  {}  {}\n", goal_text(report.goal, *best.value),
                            flag_words(report, best));
}

}  // namespace trainyard
