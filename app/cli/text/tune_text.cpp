#include "app/cli/text/tune_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

std::string settings_text(const TuneTrial& trial) {
  std::vector<std::string> words = trial.set;
  for (const std::string& word : trial.train) words.push_back("train." + word);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string_view goal_words(TuneGoal goal) {
  switch (goal) {
    case TuneGoal::Time:
      return "step";
    case TuneGoal::Memory:
      return "memory";
    case TuneGoal::Money:
      return "a step";
    case TuneGoal::Loss:
      return "loss";
  }
  return "";
}

std::string cost_text(double cost) { return readable(seconds(cost)); }

std::string trials_text(const TuneReport& report) {
  std::size_t family = 6, settings = 8;
  for (const TuneArm& arm : report.arms) family = std::max(family, arm.settings.size());
  for (const TuneTrial& t : report.trials) settings = std::max(settings, settings_text(t).size());
  const bool families = report.arms.size() > 1;
  std::string text = fmt::format("{:>4}  ", "#");
  if (families) text += fmt::format("{:<{}}  ", "family", family);
  text += fmt::format("{:<{}}  {:>9}  {:>9}  {:>9}\n", "settings", settings,
                      goal_words(report.goal), "cost", "so far");
  for (std::size_t i = 0; i < report.trials.size(); ++i) {
    const TuneTrial& t = report.trials[i];
    text += fmt::format("{:>4}  ", i + 1);
    if (families) text += fmt::format("{:<{}}  ", report.arms[t.arm].settings, family);
    text += fmt::format("{:<{}}  {:>9}  {:>9}  {:>9}", settings_text(t), settings,
                        t.value ? goal_text(report.goal, *t.value) : "-", cost_text(t.cost),
                        cost_text(t.spent));
    if (t.better) text += "  best so far";
    if (!t.why_not.empty()) text += "  " + t.why_not;
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

Json words_json(const std::vector<std::string>& words) {
  Json list = Json::list();
  for (const std::string& word : words) list.push(word);
  return list;
}

Json trial_json(const TuneTrial& trial) {
  Json json = Json::object();
  json.set("family", trial.arm);
  json.set("set", words_json(trial.set));
  if (!trial.train.empty()) json.set("train", words_json(trial.train));
  if (trial.value) json.set("value", *trial.value);
  if (!trial.why_not.empty()) json.set("why_not", trial.why_not);
  json.set("cost_seconds", trial.cost);
  json.set("spent_seconds", trial.spent);
  json.set("better", trial.better);
  return json;
}

}  // namespace

std::string goal_text(TuneGoal goal, double value) {
  switch (goal) {
    case TuneGoal::Time:
      return readable(seconds(value));
    case TuneGoal::Memory:
      return readable(Bytes{static_cast<std::int64_t>(value)});
    case TuneGoal::Money:
      return fmt::format("${:.4g}", value);
    case TuneGoal::Loss:
      return fmt::format("{:.4f}", value);
  }
  return "";
}

std::string words_of(const TuneReport& report, const TuneTrial& trial) {
  std::vector<std::string> words;
  const std::string& family = report.arms[trial.arm].settings;
  for (std::size_t from = 0; from < family.size();) {
    const std::size_t end = std::min(family.find(' ', from), family.size());
    if (end > from) words.push_back("--set " + family.substr(from, end - from));
    from = end + 1;
  }
  for (const std::string& word : trial.set) words.push_back("--set " + word);
  for (const std::string& word : trial.train) words.push_back("--train " + word);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string tune_text(const TuneReport& report) {
  std::string text =
      fmt::format("{} on {}: {} {}\n\n", report.model, report.cluster, to_string(report.goal),
                  report.measured ? "measured" : "simulated");
  text += trials_text(report);
  if (report.best) text += course_text(report);
  text += arms_text(report);
  text += fmt::format("\n{} trials, {}{}\n", report.trials.size(), cost_text(report.spent()),
                      report.stopped     ? ", stopped"
                      : report.exhausted ? ", nothing is left to try"
                                         : "");
  if (!report.best) return text + "none has a value: none is legal and fits\n";
  const TuneTrial& best = report.trials[*report.best];
  return text +
         fmt::format("best  {}  {}\n", goal_text(report.goal, *best.value), words_of(report, best));
}

std::string tune_document(const TuneReport& report) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/tune")));
  json.set("model", report.model);
  json.set("cluster", report.cluster);
  json.set("objective", to_string(report.goal));
  json.set("measured", report.measured);
  Json trials = Json::list(), families = Json::list();
  for (const TuneTrial& trial : report.trials) trials.push(trial_json(trial));
  for (const TuneArm& arm : report.arms) {
    Json family = Json::object();
    family.set("settings", arm.settings);
    family.set("trials", arm.trials);
    family.set("spent_seconds", arm.spent);
    if (arm.best) family.set("best", *arm.best);
    families.push(std::move(family));
  }
  json.set("trials", std::move(trials));
  json.set("families", std::move(families));
  json.set("spent_seconds", report.spent());
  json.set("exhausted", report.exhausted);
  json.set("stopped", report.stopped);
  if (report.best) {
    const TuneTrial& best = report.trials[*report.best];
    Json found = Json::object();
    found.set("trial", *report.best);
    found.set("value", *best.value);
    found.set("words", words_of(report, best));
    json.set("best", std::move(found));
  }
  return write_json(json);
}

}  // namespace trainyard
