#include "app/cli/text/tune_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/units_text.h"
#include "core/io/json/fields.h"

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
    if (t.together > 1) text += fmt::format("  one of {} together", t.together);
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

// The words of what was trained ahead and is better than every trial.
std::string ahead_words(const TuneReport& report) {
  TuneTrial ahead;
  ahead.arm = report.fusion->ahead_arm;
  ahead.set = report.fusion->ahead_set, ahead.train = report.fusion->ahead_train;
  return words_of(report, ahead);
}

std::string fusion_text(const TuneReport& report) {
  if (!report.fusion) return "";
  const TuneFusion& f = *report.fusion;
  std::string text = fmt::format("\n{} of {} trials were trained together, in {} {}", f.trials,
                                 report.trials.size(), f.runs, f.runs == 1 ? "run" : "runs");
  if (f.unneeded > 0)
    text += fmt::format("; {} more were trained ahead in {}, and the search went elsewhere",
                        f.unneeded, cost_text(f.unneeded_seconds));
  if (f.ahead_value)
    text += fmt::format("; the best of these is better than every trial: {}  {}",
                        goal_text(report.goal, *f.ahead_value), ahead_words(report));
  text += "\n";
  std::map<std::string, int> alone;  // by reason
  for (const TuneTrial& t : report.trials)
    if (!t.why_alone.empty()) ++alone[t.why_alone];
  for (const auto& [why, count] : alone) text += fmt::format("{} alone: {}\n", count, why);
  if (!f.predicted) return text;
  text += fmt::format("{} jobs together: ", f.jobs);
  text += f.gain
              ? fmt::format(
                    "{:.1f} times the samples per second of one after another (predicted {:.1f})",
                    *f.gain, *f.predicted)
              : fmt::format(
                    "predicted {:.1f} times the samples per second of one after another, and "
                    "not measured in so few steps",
                    *f.predicted);
  if (f.would_fit) text += fmt::format("; {} would fit", *f.would_fit);
  return text + "\n";
}

constexpr const char* kTuneValue = "of the objective: seconds, bytes, dollars a step, loss";

Fields<TuneTrial> trial_fields() {
  return {
      {"family", &TuneTrial::arm, "index into families"},
      {"set", &TuneTrial::set},
      {"train", &TuneTrial::train, kWhereSet},
      {"value", &TuneTrial::value, kTuneValue},
      {"why_not", &TuneTrial::why_not, kWhereSet, "it has no value because"},
      {"cost_seconds", &TuneTrial::cost, "seconds: of this trial"},
      {"spent_seconds", &TuneTrial::spent, "seconds: of all up to it"},
      {"better", &TuneTrial::better, "than all before"},
      {"together", &TuneTrial::together, kWhereSet, "trials of its program, with --fuse"},
      {"why_alone", &TuneTrial::why_alone, kWhereSet, "it was not trained with others because"}};
}

Fields<TuneFusion> fusion_fields() {
  return {
      {"runs", &TuneFusion::runs, "that trained several trials"},
      {"trials", &TuneFusion::trials, "that have their results from them"},
      {"unneeded", &TuneFusion::unneeded, "trained ahead, and never asked for"},
      {"unneeded_seconds", &TuneFusion::unneeded_seconds, "seconds: of these, beyond spent"},
      {"jobs", &TuneFusion::jobs, "of the largest run; 0 where there was none"},
      {"gain", &TuneFusion::gain, "samples per second of that run over one job after another"},
      {"predicted_gain", &TuneFusion::predicted, "of the same"},
      {"ahead_value", &TuneFusion::ahead_value, "of the best unneeded, if better than all trials"},
      {"ahead_set", &TuneFusion::ahead_set, kWhereSet, "its settings, as set of a trial"},
      {"ahead_train", &TuneFusion::ahead_train, kWhereSet, "its training, as train of a trial"},
      {"would_fit", &TuneFusion::would_fit, "jobs, in the memory of the device"}};
}

Fields<TuneArm> family_fields() {
  return {{"settings", &TuneArm::settings},
          {"trials", &TuneArm::trials},
          {"spent_seconds", &TuneArm::spent, "seconds: of its trials"},
          {"best", &TuneArm::best, kTuneValue}};
}

// Of a report that has a best trial.
Fields<TuneReport> best_trial_fields() {
  const auto best = [](const TuneReport& r) -> const TuneTrial& { return r.trials[*r.best]; };
  return {{"trial", [](const TuneReport& r) { return *r.best; }, "index into trials"},
          {"value", [best](const TuneReport& r) { return *best(r).value; }, kTuneValue},
          {"words", [best](const TuneReport& r) { return words_of(r, best(r)); },
           "for a command line"}};
}

Fields<TuneReport> tune_fields() {
  return document_fields<TuneReport>(
      "trainyard/tune",
      {{"model", &TuneReport::model},
       {"cluster", &TuneReport::cluster},
       {"objective", &TuneReport::goal, one_of({"time", "memory", "money", "loss"})},
       {"measured", &TuneReport::measured},
       {"trials", &TuneReport::trials, list_of(object(trial_fields()))},
       {"families", &TuneReport::arms, list_of(object(family_fields()))},
       {"spent_seconds", &TuneReport::spent, "seconds: of all trials"},
       {"exhausted", &TuneReport::exhausted, "nothing is left to try"},
       {"stopped", &TuneReport::stopped},
       {"fusion", &TuneReport::fusion, object(fusion_fields())},
       {"best", [](const TuneReport& r) { return r.best ? &r : nullptr; },
        object(best_trial_fields())}});
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
  text += fusion_text(report);
  text += fmt::format("\n{} trials, {}{}\n", report.trials.size(), cost_text(report.spent()),
                      report.stopped     ? ", stopped"
                      : report.exhausted ? ", nothing is left to try"
                                         : "");
  if (!report.best) return text + "none has a value: none is legal and fits\n";
  const TuneTrial& best = report.trials[*report.best];
  return text +
         fmt::format("best  {}  {}\n", goal_text(report.goal, *best.value), words_of(report, best));
}

Json tune_schema() { return tune_fields().schema(); }

std::string tune_document(const TuneReport& report) {
  return write_json(tune_fields().write(report));
}

}  // namespace trainyard
