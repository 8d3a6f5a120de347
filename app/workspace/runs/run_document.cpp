#include "app/workspace/runs/run_document.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/base/digest.h"
#include "core/io/documents/result_json.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

Json seconds_of(Duration d) { return Json(static_cast<double>(d.count()) / 1e9); }

// JSON cannot represent numbers that are not finite.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json categories(const CategoryBytes& bytes) {
  Json json = Json::object();
  for (int c = 0; c < kCategories; ++c)
    json.set(std::string(to_string(static_cast<Category>(c))),
             bytes[static_cast<std::size_t>(c)].value);
  return json;
}

Json devices(const BackendRun& run) {
  Json list = Json::list();
  for (const DeviceMemory& m : run.memory) {
    Json json = Json::object();
    json.set("rank", m.device.value);
    json.set("peer", m.peer);
    json.set("peak_bytes", m.most.value);
    if (m.reach.value > 0) {
      json.set("reach_bytes", m.reach.value);
      json.set("scratch_bytes", m.scratch.value);
    }
    json.set("categories", categories(m.most_by_category));
    list.push(std::move(json));
  }
  return list;
}

Json residual(const TimelineComparison& c) {
  Json causes = Json::list(), waves = Json::list();
  for (const CauseResidual& cause : c.causes) {
    Json json = Json::object();
    json.set("cause", cause.name);
    json.set("predicted_seconds", seconds_of(cause.predicted));
    json.set("measured_seconds", seconds_of(cause.measured));
    causes.push(std::move(json));
  }
  double worst = 0;
  for (const WaveResidual& wave : c.waves) {
    Json json = Json::object();
    json.set("rank", wave.device.value);
    json.set("predicted_peak_bytes", wave.predicted_peak.value);
    json.set("measured_peak_bytes", wave.measured_peak.value);
    json.set("predicted_categories", categories(wave.predicted_most));
    json.set("measured_categories", categories(wave.measured_most));
    json.set("over_work", wave.over_work_share());
    json.set("over_time", wave.over_time_share());
    waves.push(std::move(json));
    worst = std::max(worst, wave.over_work_share());
  }
  Json json = Json::object();
  json.set("step", c.step_share());
  json.set("memory", worst);
  json.set("critical_rank", c.device.value);
  json.set("causes", std::move(causes));
  json.set("waves", std::move(waves));
  return json;
}

// Of losses by step, null where one is no finite number.
Json losses(const std::vector<double>& by_step) {
  Json list = Json::list();
  for (const double loss : by_step) list.push(finite(loss));
  return list;
}

Json check_json(const CheckReport& c) {
  Json json = Json::object();
  json.set("backend", c.backend);
  json.set("agrees", c.agrees());
  if (!c.agrees()) json.set("difference", c.difference);
  json.set("loss", losses(c.expected));
  json.set("loss_distance", finite(c.worst_loss));
  json.set("loss_tolerance", c.tolerances.loss);
  json.set("parameter_distance", finite(c.worst_parameter));
  json.set("parameter_tolerance", c.tolerances.parameters);
  return json;
}

}  // namespace

std::string run_document(const TrainingReport& report) {
  const BackendRun& run = report.run;
  Json times = Json::list();
  for (const Duration time : run.step_times) times.push(seconds_of(time));
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/run")));
  json.set("digest", to_hex(report.predicted->result.digest));
  json.set("backend", report.backend);
  if (!report.data.empty()) json.set("data", report.data);
  json.set("steps", static_cast<std::int64_t>(run.losses.size()));
  if (run.first_step > 0) json.set("resumed_at", run.first_step);
  json.set("stopped", run.stopped);
  json.set("skipped", run.skipped);
  json.set("loss", losses(run.losses));
  if (!run.step_times.empty()) {
    json.set("step_seconds", seconds_of(report.step));
    json.set("step_times", std::move(times));
  }
  if (run.samples_per_second > 0) json.set("samples_per_second", run.samples_per_second);
  json.set("devices", devices(run));
  if (report.evaluation) {
    Json evaluation = Json::object();
    evaluation.set("loss", finite(report.evaluation->loss));
    if (report.evaluation->accuracy >= 0) evaluation.set("accuracy", report.evaluation->accuracy);
    evaluation.set("samples", report.evaluation->samples);
    json.set("evaluation", std::move(evaluation));
  }
  if (report.checked) json.set("check", check_json(*report.checked));
  if (report.measured) {
    const Json measured = to_json(report.measured->result);
    for (const char* key : {"memory", "breakdown_seconds", "bubble_fraction",
                            "exposed_communication_fraction", "mfu"})
      if (const Json* member = measured.find(key)) json.set(key, *member);
    json.set("residual", residual(report.comparison));
  }
  json.set("predicted", to_json(report.predicted->result));
  return write_json(json);
}

std::string sparkline(const std::vector<double>& losses, std::size_t width) {
  static constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t columns = std::min(width, losses.size());
  std::vector<double> means;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t from = c * losses.size() / columns, to = (c + 1) * losses.size() / columns;
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += losses[i];
    means.push_back(sum / static_cast<double>(to - from));
  }
  double low = INFINITY, high = -INFINITY;
  for (const double mean : means)
    if (std::isfinite(mean)) low = std::min(low, mean), high = std::max(high, mean);
  std::string line;
  for (const double mean : means) {
    const double share = high > low ? (mean - low) / (high - low) : 0;
    line += std::isfinite(mean) ? kBars[static_cast<std::size_t>(std::lround(share * 7))]
                                : std::string_view("!");
  }
  return line;
}

}  // namespace trainyard
