#include "app/workspace/runs/run_recording.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <utility>

#include "app/workspace/runs/run_document.h"
#include "app/workspace/scenario/wave_study.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/io/documents/timeline_json.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

std::optional<Bytes> peak_of(const ExperimentPtr& experiment) {
  const StageMemory* most = experiment ? fullest(experiment->result) : nullptr;
  if (most == nullptr) return std::nullopt;
  return most->peak.value;
}

std::string timeline_of(const TrainingReport& report) {
  if (!report.measured) return "";
  TimelineDocument document;
  document.timeline = report.run.timeline;
  document.waves = report.run.waves;
  document.program = digest(report.predicted->program);
  return write_timeline(document);
}

std::string source_of(const RunEntry& entry) { return "run " + std::to_string(entry.id); }

// Reads what a run's document has by step.
void read_curves(const RecordedRun& run, PastRun& into) {
  const std::string source = source_of(run.entry);
  const Json json = read_document(run.document, "trainyard/run", source);
  const JsonCursor document(json, source);
  for (const JsonCursor& loss : document.at("loss").items())
    into.losses.push_back(loss.value().is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                 : loss.number());
  for (const auto& [name, list] : {std::pair{"orthogonality", &into.orthogonality},
                                   std::pair{"energy_sent", &into.energy_sent}}) {
    if (json.find(name) == nullptr) continue;
    for (const JsonCursor& step : document.at(name).items()) {
      std::vector<double>& layers = list->emplace_back();
      for (const JsonCursor& layer : step.items()) layers.push_back(layer.number());
    }
  }
  if (json.find("staleness") == nullptr) return;
  for (const JsonCursor& count : document.at("staleness").items())
    into.staleness.push_back(count.integer());
}

}  // namespace

std::string utc_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::vector<std::string> training_words(const Training& training) {
  const Training plain;
  std::vector<std::string> words;
  for (const TrainingKey& key : training_keys()) {
    const std::string value = key.read(training);
    if (value != key.read(plain) || key.key == "steps" || key.key == "seed")
      words.push_back(std::string(key.key) + "=" + value);
  }
  return words;
}

RecordedRun record_of(const TrainingReport& report, const RunWords& words, std::string started) {
  const Result& predicted = report.predicted->result;
  RecordedRun run;
  RunEntry& e = run.entry;
  e.started = std::move(started);
  e.name = predicted.model_name + " on " + predicted.cluster_name;
  e.model = words.request.model;
  e.cluster = words.request.cluster;
  e.plan = words.request.plan;
  e.settings = words.request.settings;
  e.training = training_words(words.training);
  e.calibration = words.calibration;
  e.data = report.data;
  e.outcome = report.run.stopped ? "stopped" : "done";
  e.steps = static_cast<std::int64_t>(report.run.losses.size());
  if (!report.run.losses.empty() && std::isfinite(report.run.losses.back()))
    e.loss = report.run.losses.back();
  if (report.step > Duration{}) e.step = report.step;
  e.predicted_step = predicted.step.value;
  e.peak = peak_of(report.measured);
  e.predicted_peak = peak_of(report.predicted);
  run.document = run_document(report);
  run.timeline = timeline_of(report);
  return run;
}

PastRun open_run(const RecordedRun& run) {
  const std::string source = source_of(run.entry);
  if (run.timeline.empty())
    throw Error(Error::Kind::InvalidInput,
                "it ended before a step was measured whole, so that there is nothing to draw",
                {source});
  PastRun past;
  past.entry = run.entry;
  read_curves(run, past);
  Training training;
  for (const std::string& word : run.entry.training) apply_training(training, word, {source});
  Scenario scenario =
      open({run.entry.model, run.entry.cluster, run.entry.plan, run.entry.settings});
  const std::unique_ptr<CostModel> costs = run.entry.calibration.empty()
                                               ? cost_model(scenario)
                                               : open_cost_model(run.entry.calibration, scenario);
  past.predicted = predict_training(scenario, training, costs.get());
  TimelineDocument found = read_timeline(run.timeline, source);
  if (found.program != digest(past.predicted->program) ||
      found.timeline.spans.size() != past.predicted->program.instructions.size() ||
      found.waves.size() != past.predicted->waves.size())
    throw Error(Error::Kind::InvalidInput,
                "this plan is laid out otherwise now than when it ran, so that the two cannot be "
                "drawn over each other; its figures stand",
                {source});
  past.aligned_peak = aligned_peak(past.predicted->workload.scenario, costs.get());
  past.measured = measured_experiment(*past.predicted, found.timeline, found.waves, *costs);
  past.comparison =
      compare(past.predicted->program, {past.predicted->timeline, past.predicted->waves},
              {found.timeline, found.waves}, past.predicted->prices.recompute_share);
  return past;
}

}  // namespace trainyard
