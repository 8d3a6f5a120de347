#include "app/workspace/lessons/lesson_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/units_text.h"
#include "core/training/optimizers/layer_ratios.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr double kDiverged = 1e24;  // replaces a loss that is not finite

double loss_or_far(double loss) { return std::isfinite(loss) ? loss : kDiverged; }

class Facts {
 public:
  Facts(const std::vector<double>& losses, const LessonRun& run) {
    const auto updates = static_cast<std::int64_t>(losses.size());
    put("ran", updates >= run.steps ? 1 : 0);
    put("run_updates", static_cast<double>(updates));
    if (losses.empty()) return;
    put("run_first_loss", loss_or_far(losses.front()));
    put("run_loss", loss_or_far(losses.back()));
  }
  // Where replicas combined updates, or sent parts of gradients.
  void add_ratios(const char* name, const std::vector<std::vector<double>>& by_step) {
    if (const double last = last_ratio(by_step); last > 0) put(name, last);
  }
  void add(const TimelineComparison& c, Duration predicted, Duration step) {
    put("run_step", to_seconds(step));
    put("run_predicted_step", to_seconds(predicted));
    put("run_bubble", c.measured_bubble);
    put("run_predicted_bubble", c.predicted_bubble);
    Bytes measured_peak{}, predicted_peak{};
    for (const WaveResidual& wave : c.waves) {
      measured_peak = std::max(measured_peak, wave.measured_peak);
      predicted_peak = std::max(predicted_peak, wave.predicted_peak);
    }
    put("run_peak", static_cast<double>(measured_peak.value));
    put("run_predicted_peak", static_cast<double>(predicted_peak.value));
  }
  LessonSettings take() && { return std::move(facts_); }

 private:
  void put(const char* name, double value) { facts_[name] = fmt::format("{:.17g}", value); }
  LessonSettings facts_;
};

double fact(const LessonSettings& facts, std::string_view name) {
  const auto found = facts.find(name);
  return found == facts.end() ? 0 : parse_number(found->second, {std::string(name)});
}

std::string loss_words(double loss) {
  return loss >= kDiverged ? "no number at all" : fmt::format("{:.3g}", loss);
}

}  // namespace

Request run_request(const LessonRun& run) { return {run.model, run.cluster, "", run.settings}; }

Training run_training(const LessonRun& run) {
  Training training;
  for (const std::string& words : run.training) apply_training(training, words, {"lesson"});
  training.steps = run.steps;
  return training;
}

LessonSettings run_facts(const TrainingReport& report, const LessonRun& run) {
  Facts facts(report.run.losses, run);
  facts.add_ratios("run_orthogonality", report.run.orthogonality);
  facts.add_ratios("run_energy_sent", report.run.energy_sent);
  if (report.measured)
    facts.add(report.comparison, report.predicted->result.step.value, report.step);
  return std::move(facts).take();
}

LessonSettings run_facts(const PastRun& past, const LessonRun& run) {
  Facts facts(past.losses, run);
  facts.add_ratios("run_orthogonality", past.orthogonality);
  facts.add_ratios("run_energy_sent", past.energy_sent);
  facts.add(past.comparison, past.predicted->result.step.value,
            past.entry.step.value_or(past.comparison.measured_step));
  return std::move(facts).take();
}

std::string run_facts_text(const LessonSettings& facts) {
  const auto updates = static_cast<std::int64_t>(fact(facts, "run_updates"));
  if (fact(facts, "ran") == 0)
    return fmt::format("It ended after {} updates, before all were done.", updates);
  const auto time = [&](const char* name) { return format_step_time(seconds(fact(facts, name))); };
  const auto share = [&](const char* name) { return format_percent(fact(facts, name)); };
  std::string text;
  if (facts.find("run_step") != facts.end())
    text = fmt::format("It waited {} of its time, predicted {}. A step took {}, predicted {}. ",
                       share("run_bubble"), share("run_predicted_bubble"), time("run_step"),
                       time("run_predicted_step"));
  text += fmt::format("The loss went from {} to {}.", loss_words(fact(facts, "run_first_loss")),
                      loss_words(fact(facts, "run_loss")));
  if (const double ratio = fact(facts, "run_orthogonality"); ratio > 0)
    text += fmt::format(" The updates that were combined were {:.2g} orthogonal.", ratio);
  if (fact(facts, "run_energy_sent") > 0)
    text += fmt::format(" Replicas sent {} of the energy of their gradients.",
                        share("run_energy_sent"));
  return text;
}

}  // namespace trainyard
