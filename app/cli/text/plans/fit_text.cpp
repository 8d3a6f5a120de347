#include "app/cli/text/plans/fit_text.h"

#include <algorithm>

#include "app/cli/text/figure_fields.h"
#include "app/cli/text/lines.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string words_or(const std::string& words, const char* none) {
  return words.empty() ? none : words;
}

// One bar of the waterfall, or one plan of the front.
void fit_row(Out& out, const std::string& name, const FitPlan& plan, const FittedPlan& found) {
  const double times = static_cast<double>(found.start.figures.reserved.value) /
                       static_cast<double>(std::max<std::int64_t>(1, plan.figures.reserved.value));
  line(out, "  {:>10} {:>7.3g}x {:>10}  {}{}", readable(plan.figures.reserved), times,
       readable_step(plan.figures.step), name,
       plan.changes.empty() ? "" : " (" + plan.changes + ")");
}

void fit_rows_head(Out& out, const char* title, const char* last) {
  line(out, "\n{}\n  {:>10} {:>8} {:>10}  {}", title, "reserved", "smaller", "step", last);
}

void trial_row(Out& out, const char* name, const FitTrial& trial) {
  const double off = static_cast<double>((trial.measured - trial.predicted).value) /
                     static_cast<double>(std::max<std::int64_t>(1, trial.predicted.value));
  std::string row = fmt::format("  {:<8} {:>10} {:>10} {:>8.2f} % {:>10} {:>8.4f}", name,
                                readable(trial.predicted), readable(trial.measured), 100 * off,
                                readable_step(trial.step), trial.loss);
  if (trial.accuracy) row += fmt::format(" {:>8.2f} %", 100 * *trial.accuracy);
  line(out, "{}", row);
}

void trial_rows(Out& out, const FitTrials& trials) {
  line(out,
       "\nTrained here for {} steps on {}; memory is the peak of tensors, without what is reserved "
       "beyond them above:",
       trials.steps, trials.data);
  std::string head = fmt::format("  {:<8} {:>10} {:>10} {:>10} {:>10} {:>8}", "", "predicted",
                                 "measured", "apart", "step", "loss");
  if (trials.start.accuracy) head += fmt::format(" {:>10}", "accuracy");
  line(out, "{}", head);
  trial_row(out, "the plan", trials.start);
  trial_row(out, "fitted", trials.chosen);
}

Fields<FitPlan> fit_plan_fields() {
  Fields<FitPlan> fields = {{"set", &FitPlan::words, "settings on top of the plan; empty: none"},
                            {"changes", &FitPlan::changes, kWhereSet,
                             "why its training is not step by step the plan's; absent: it is"}};
  add_figures(fields, &FitPlan::figures);
  return fields;
}

Fields<FitTrial> trial_fields() {
  return {{"predicted_peak_bytes", &FitTrial::predicted},
          {"measured_peak_bytes", &FitTrial::measured},
          {"step_seconds", &FitTrial::step, "median"},
          {"loss", &FitTrial::loss, finite_number(), "of the last update"},
          {"accuracy", &FitTrial::accuracy}};
}

Fields<FitTrials> trials_fields() {
  return {{"steps", &FitTrials::steps},
          {"data", &FitTrials::data},
          {"start", &FitTrials::start, object(trial_fields())},
          {"chosen", &FitTrials::chosen, object(trial_fields())}};
}

Fields<FitAnswer> fit_fields() {
  const auto found = [](auto member) {
    return [member](const FitAnswer& a) -> const auto& { return a.found.*member; };
  };
  const Form<FitPlan> plan = object(fit_plan_fields());
  const Form<FitStep> step = object(Fields<FitStep>{
      {"pulls", &FitStep::words, "what this lever changes"}, {"plan", &FitStep::after, plan}});
  const Form<Knob> lever =
      object(Fields<Knob>{{"key", &Knob::key}, {"values", &Knob::values, "the plan's own first"}});
  return document_fields<FitAnswer>(
      "trainyard/fit",
      {{"sentence", [](const FitAnswer& a) { return fit_sentence(a.found); }},
       {"budget_bytes", found(&FittedPlan::budget), "of each device"},
       {"levers", found(&FittedPlan::levers), list_of(lever)},
       {"tried", found(&FittedPlan::tried), "combinations"},
       {"fitting", found(&FittedPlan::fitting), "of them, in the whole memory of a device"},
       {"start", found(&FittedPlan::start), plan, "the plan itself"},
       {"chosen", found(&FittedPlan::chosen), plan, "the fastest within the budget"},
       {"faithful", found(&FittedPlan::faithful), plan,
        "the fastest within the budget that trains step by step as the plan does"},
       {"steps", found(&FittedPlan::steps), list_of(step),
        "levers from the plan to the chosen one, or to the smallest"},
       {"front", found(&FittedPlan::front), list_of(plan),
        "none is both faster and smaller than another; fastest first; each saves at least 1 % of "
        "the "
        "memory of the one before it, but for the chosen one and the smallest"},
       {"trials", &FitAnswer::trials, object(trials_fields()), "where both were trained"}});
}

}  // namespace

std::string fit_text(const FitAnswer& answer) {
  const FittedPlan& found = answer.found;
  Out out;
  line(out, "{}", fit_sentence(found));
  if (found.chosen && !found.chosen->changes.empty())
    line(out, "Its training is not step by step the plan's: {}. {}", found.chosen->changes,
         found.faithful ? fmt::format("The fastest that is: {}, {}, {} a step.",
                                      words_or(found.faithful->words, "the plan itself"),
                                      readable(found.faithful->figures.reserved),
                                      readable_step(found.faithful->figures.step))
                        : "No plan within the budget is.");
  fit_rows_head(out, "From the plan, lever by lever", "lever");
  fit_row(out, "the plan", found.start, found);
  for (const FitStep& step : found.steps) fit_row(out, step.words, step.after, found);
  if (!found.front.empty()) {
    fit_rows_head(out, "No plan is both faster and over 1 % smaller than one of these", "settings");
    for (const FitPlan& plan : found.front)
      fit_row(out, words_or(plan.words, "the plan"), plan, found);
  }
  if (answer.trials) trial_rows(out, *answer.trials);
  line(out, "\n{} combinations of {} levers tried, {} fit in the whole memory of a device.",
       found.tried, found.levers.size(), found.fitting);
  if (found.chosen && !found.chosen->words.empty()) {
    std::string set;
    for (const std::string_view word : each_word(found.chosen->words))
      set += " --set " + shell_word(std::string(word));
    line(out, "Apply it with{}", set);
  }
  return out;
}

Json fit_schema() { return fit_fields().schema(); }

std::string fit_document(const FitAnswer& answer) { return write_json(fit_fields().write(answer)); }

}  // namespace trainyard
