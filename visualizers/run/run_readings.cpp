#include "visualizers/run/run_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "visualizers/run/run_causes.h"
#include "visualizers/run/run_ratios.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr const char* kNone = "\u2013";
constexpr const char* kSum = "sum of the rows, exact";

double share_of(double measured, double predicted) {
  return predicted > 0 ? measured / predicted - 1 : 0;
}
double count_of(Duration d) { return static_cast<double>(d.count()); }

std::string against(const std::string& predicted, double share) {
  return "predicted " + predicted + ", " + format_signed_percent(share);
}

// The rank that held most; the first of equals. No rank where nothing was measured.
std::optional<std::size_t> fullest(const RunModel& model) {
  std::optional<std::size_t> most;
  for (std::size_t i = 0; i < std::min(model.waves.size(), model.predicted->waves.size()); ++i) {
    if (model.waves[i].samples.empty()) continue;
    if (!most || peak_of(model.waves[*most]) < peak_of(model.waves[i])) most = i;
  }
  return most;
}

RunReading step_reading(const RunModel& model) {
  const Duration predicted = model.predicted->result.step.value;
  if (model.step <= Duration{})
    return {"Step time", kNone, "predicted " + band_text(model.predicted->result.step).text()};
  return {
      "Step time", format_step_time(model.step),
      against(format_step_time(predicted), share_of(count_of(model.step), count_of(predicted)))};
}

Bytes predicted_peak(const RunModel& model) {
  Bytes peak{};
  for (const MemoryWave& wave : model.predicted->waves) peak = std::max(peak, peak_of(wave));
  return peak;
}

RunReading peak_reading(const RunModel& model) {
  const Bytes predicted = predicted_peak(model);
  const std::optional<std::size_t> rank = fullest(model);
  if (!rank) return {"Peak memory", kNone, "predicted " + format_bytes(predicted)};
  const Bytes measured = peak_of(model.waves[*rank]);
  return {"Peak memory", format_bytes(measured),
          against(format_bytes(predicted), share_of(static_cast<double>(measured.value),
                                                    static_cast<double>(predicted.value)))};
}

RunReading rate_reading(const RunModel& model) {
  const Result& result = model.predicted->result;
  const double amount = result.counts_tokens ? result.tokens_per_step : result.samples_per_step;
  const std::string what = result.counts_tokens ? "tokens" : "samples";
  const std::string name = result.counts_tokens ? "Tokens per second" : "Samples per second";
  const std::string note = format_count(std::llround(amount)) + " " + what + " per update";
  if (model.step <= Duration{}) return {name, kNone, note};
  return {name, format_count(std::llround(amount / to_seconds(model.step))), note};
}

RunReading bubble_reading(const RunModel& model) {
  if (!model.comparison)
    return {"Bubble", kNone,
            "predicted " + format_percent(model.predicted->result.bubble_fraction)};
  return {"Bubble", format_percent(model.comparison->measured_bubble),
          "predicted " + format_percent(model.comparison->predicted_bubble)};
}

RunReading loss_reading(const RunModel& model) {
  const std::string note = "update " +
                           format_count(static_cast<std::int64_t>(model.losses.size())) + " of " +
                           format_count(model.steps);
  if (model.losses.empty()) return {"Loss", kNone, note};
  return {"Loss", loss_text(model.losses.back()), note};
}

// What is left goes on at the pace so far.
RunReading left_reading(const RunModel& model) {
  const auto done = static_cast<std::int64_t>(model.losses.size());
  const std::int64_t left = std::max<std::int64_t>(0, model.steps - done);
  if (model.so_far <= Duration{}) return {"Left", kNone, format_count(left) + " updates"};
  const std::string note = format_duration(model.so_far) + " so far";
  if (!model.running) return {"Left", "0 s", note};
  if (done == 0) return {"Left", kNone, note};
  return {"Left", format_duration(model.so_far / done * left), note};
}

Ink ink_of_cause(std::string_view name) {
  const std::pair<std::string_view, Ink> inks[] = {
      {"forward", Ink::Forward},     {"backward", Ink::Backward}, {"recompute", Ink::Recompute},
      {"optimizer", Ink::Optimizer}, {"bubble", Ink::Idle},       {"host", Ink::Swap},
      {"allocator", Ink::Swap},      {"input", Ink::Swap}};
  for (const auto& [cause, ink] : inks)
    if (cause == name) return ink;
  return Ink::Communication;
}

std::string spell_residuals(const RunResiduals& residuals, const auto& format) {
  std::string text = " " + residuals.of + " by cause:";
  const auto add = [&](const RunResidual& part) {
    text += fmt::format(" {} {}, predicted {}{}{};", part.name, format(part.measured),
                        format(part.predicted), part.cause.empty() ? "" : ", ", part.cause);
  };
  for (const RunResidual& part : residuals.parts) add(part);
  add(residuals.sum);
  text.back() = '.';
  return text;
}

}  // namespace

std::vector<RunReading> run_readings(const RunModel& model) {
  return {step_reading(model),   peak_reading(model), rate_reading(model),
          bubble_reading(model), loss_reading(model), left_reading(model)};
}

std::optional<RunJudgement> judge_run(const RunModel& model) {
  if (!model.comparison || model.step <= Duration{}) return {};
  const double step = share_of(count_of(model.step), count_of(model.predicted->result.step.value));
  const double peak = model.comparison->peak_share();
  RunJudgement judgement;
  judgement.holds = std::abs(step) <= kStepLimit && std::abs(peak) <= kPeakLimit;
  char limits[2][24];
  std::snprintf(limits[0], sizeof limits[0], " (limit %.0f %%)", 100 * kStepLimit);
  std::snprintf(limits[1], sizeof limits[1], " (limit %.0f %%)", 100 * kPeakLimit);
  judgement.sentence = std::string("Prediction ") + (judgement.holds ? "holds" : "is off") +
                       ": step " + format_signed_percent(step) + limits[0] + ", peak " +
                       format_signed_percent(peak) + limits[1];
  return judgement;
}

std::optional<RunResiduals> time_residuals(const RunModel& model) {
  if (!model.comparison) return {};
  const TimelineComparison& c = *model.comparison;
  RunResiduals residuals;
  residuals.of = "Step of " + rank_name(model.predicted->program, c.device);
  for (const CauseResidual& cause : c.causes)
    if (cause.predicted.count() != 0 || cause.measured.count() != 0)
      residuals.parts.push_back({std::string(cause.name), ink_of_cause(cause.name),
                                 cause.predicted.count(), cause.measured.count(),
                                 cause_words(cause, model.predicted->program),
                                 cause_figures(cause, model.predicted->program)});
  residuals.sum = {"step", Ink::Text,    c.predicted_step.count(), c.measured_step.count(),
                   kSum,   std::string()};
  return residuals;
}

std::optional<RunResiduals> memory_residuals(const RunModel& model) {
  const std::optional<std::size_t> rank = fullest(model);
  if (!rank || model.predicted->waves[*rank].samples.empty()) return {};
  const MemoryWave &p = model.predicted->waves[*rank], &m = model.waves[*rank];
  RunResiduals residuals;
  residuals.of =
      "Peak of " + rank_name(model.predicted->program, DeviceId{static_cast<std::uint32_t>(*rank)});
  for (int c = 0; c < kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    const auto at = static_cast<std::size_t>(c);
    const std::int64_t predicted = p.samples[p.peak].bytes[at].value;
    const std::int64_t measured = m.samples[m.peak].bytes[at].value;
    std::string name(to_string(category));
    std::replace(name.begin(), name.end(), '_', ' ');
    if (predicted == 0 && measured == 0) continue;
    const bool known = model.comparison && *rank < model.comparison->waves.size();
    residuals.parts.push_back({std::move(name), ink_of(category), predicted, measured,
                               known ? memory_cause(model.comparison->waves[*rank], category,
                                                    Bytes{predicted}, Bytes{measured})
                                     : std::string(),
                               std::string()});
  }
  residuals.sum = {"peak", Ink::Text, peak_of(p).value, peak_of(m).value, kSum, std::string()};
  return residuals;
}

std::string peaks_words(const RunModel& model) {
  if (!model.aligned) return "";
  const std::optional<std::size_t> rank = fullest(model);
  return fmt::format("peak {}predicted {}, aligned {}",
                     rank ? format_bytes(peak_of(model.waves[*rank])) + ", " : "",
                     format_bytes(predicted_peak(model)), format_bytes(model.aligned->peak));
}

std::vector<std::string> run_notes(const RunModel& model) {
  return run_notes(model, largest_deviation(model));
}

std::vector<std::string> run_notes(const RunModel& model,
                                   const std::optional<RunDeviation>& furthest) {
  std::vector<std::string> notes;
  if (model.first_sample > Duration{})
    notes.push_back("first sample after " + format_duration(model.first_sample));
  if (model.running && model.frames_per_second > 0)
    notes.push_back(std::to_string(model.frames_per_second) + " frames per second");
  if (furthest)
    notes.push_back(fmt::format("largest deviation: {}, {}", furthest->name,
                                format_signed_percent(furthest->share())));
  if (model.aligned) notes.push_back(peaks_words(model));
  if (std::string words = exchange_words(model); !words.empty()) notes.push_back(std::move(words));
  return notes;
}

std::string spell_run_readings(const RunModel& model) {
  std::string text;
  if (const auto judgement = judge_run(model)) text += " " + judgement->sentence + ".";
  for (const RunReading& r : run_readings(model)) {
    text += " " + r.name + " " + (r.value == kNone ? "not measured" : r.value);
    if (!r.note.empty()) text += ", " + r.note;
    text += ".";
  }
  if (const auto time = time_residuals(model))
    text += spell_residuals(*time, [](std::int64_t n) { return format_step_time(Duration{n}); });
  if (const auto memory = memory_residuals(model))
    text += spell_residuals(*memory, [](std::int64_t n) { return format_bytes(Bytes{n}); });
  const std::optional<RunDeviation> furthest = largest_deviation(model);
  for (const std::string& note : run_notes(model, furthest)) text += " " + note + ".";
  if (furthest) text += " " + deviation_words(*furthest) + ".";
  return text;
}

}  // namespace trainyard
