#include "app/workspace/plans/placement_question.h"

#include <fmt/format.h>

#include <sstream>

#include "app/workspace/plans/planned_job.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/lowering/lower.h"

namespace trainyard {
namespace {

constexpr double kUsualGigabytes = 640, kUsualLoad = 0.3;

}  // namespace

PlacementAsked::PlacementAsked() {
  set_gigabytes(question.traces.nodes, kUsualGigabytes);
  question.traces.load = kUsualLoad;
}

double gigabytes_of(const PlacedNodes& nodes) { return static_cast<double>(nodes.bytes) / 1e9; }

void set_gigabytes(PlacedNodes& nodes, double gigabytes) {
  nodes.bytes = static_cast<std::int64_t>(gigabytes * 1e9);
}

Request placed_job(const std::string& words) {
  std::istringstream parts(words);
  Request job;
  if (!(parts >> job.model >> job.cluster))
    refuse_flag("job", fmt::format("expected a model, a cluster and settings, as \"llama-3-8b "
                                   "h100-sxm:8 tp=8 global-batch=8\", found \"{}\"",
                                   words));
  for (std::string setting; parts >> setting;) job.settings.push_back(setting);
  return job;
}

namespace {

JobKind kind_of_job_words(const std::string& words, double hours) {
  try {
    const Scenario scenario = open(placed_job(words));
    throw_if_errors(check(scenario));
    return planned_job(scenario, seconds(3600 * hours));
  } catch (const Error& error) {
    // Flags within the words of a job were not typed; a place in a file is kept.
    if (!error.place().text.starts_with("--")) throw;
    refuse_flag("job", error.what());
  }
}

}  // namespace

PlacementStudy study_placement(const PlacementAsked& asked) {
  PlacementQuestion q = asked.question;
  for (const std::string& words : asked.jobs)
    q.traces.kinds.push_back(kind_of_job_words(words, asked.hours));
  if (q.traces.kinds.empty()) q.traces.kinds = stated_kinds();
  try {
    return placement_study(q, asked.stop, asked.progress);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) throw;
    refuse_flag(error.place().text, error.what());  // a field of the question is a flag here
  }
}

std::string placement_command(const PlacementAsked& asked) {
  const PlacementAsked usual;
  const PlacementQuestion &q = asked.question, &u = usual.question;
  std::string command = "trainyard place";
  const auto add = [&](const char* flag, auto value, auto usually) {
    if (value != usually) command += fmt::format(" --{} {}", flag, value);
  };
  const auto minutes = [](Duration time) { return to_seconds(time) / 60; };
  add("nodes", q.traces.nodes.count, u.traces.nodes.count);
  add("devices", q.traces.nodes.devices, u.traces.nodes.devices);
  add("memory", gigabytes_of(q.traces.nodes), gigabytes_of(u.traces.nodes));
  add("jobs", q.traces.jobs, u.traces.jobs);
  add("load", q.traces.load, u.traces.load);
  add("patience", minutes(q.patience), minutes(u.patience));
  add("training", q.training, u.training);
  add("traces", q.held_out, u.held_out);
  add("seed", q.traces.seed, u.traces.seed);
  for (const std::string& words : asked.jobs) command += " --job " + shell_word(words);
  if (!asked.jobs.empty()) add("hours", asked.hours, usual.hours);
  return command;
}

}  // namespace trainyard
