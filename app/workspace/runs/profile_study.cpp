#include "app/workspace/runs/profile_study.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/model_outputs.h"
#include "core/base/error.h"
#include "core/base/processor_time.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/training/data_source.h"

namespace trainyard {
namespace {

constexpr std::string_view kPolicy = "cart-pole-policy";

void expect_devices_here(const Cluster& cluster) {
  if (cluster.device.id != "cpu")
    refuse("--cluster",
           fmt::format("a profile is of this machine's own devices, expected a cluster such as "
                       "cpu:{}, found {}",
                       cluster.count, cluster.name));
}

}  // namespace

ProfileQuestion cart_pole_question(std::int64_t updates) {
  ProfileQuestion question;
  question.scenario = {zoo_model("cartpole-q"), local_cluster(1, Bytes{}), {}};
  for (const char* one :
       {"precision=fp32", "optimizer=adam", "global-batch=2048", "micro-batch=2048"})
    apply_setting(question.scenario.plan, one);
  question.training.rate = 0.01, question.training.steps = updates;
  question.data = kPolicy;
  return question;
}

ProfileStudy profile_study(const ProfileQuestion& question) {
  expect_devices_here(question.scenario.cluster);
  const ExperimentPtr predicted =
      predict_training(question.scenario, question.training, nullptr, question.stop);
  const Training training =
      at_rate_of(predicted->workload.scenario.cluster.device, question.training);
  expect_fits(*predicted, "expected a training that fits on this machine's devices", {"--cluster"});
  const Scenario& scenario = predicted->workload.scenario;
  ProfileStudy study;
  const std::string name(question.data.empty() ? default_data(scenario.model) : question.data);
  const DataSeeds seeds = data_seeds(question.training);
  const std::unique_ptr<DataSource> data =
      name == kPolicy
          ? cart_pole_policy(
                seeds.order,
                {model_outputs, [&](double length) { study.episode_lengths.push_back(length); }})
          : open_data(name, seeds);
  CpuOptions options;
  options.mode = RunMode::WallClock;
  options.record_timeline = false;
  options.memory_limit = scenario.cluster.device.memory.value;
  const BackendJob job{predicted->workload, predicted->program, predicted->prices, &training,
                       data.get()};
  // The backend lives as long as the names of its spans are needed.
  const ProfiledWork work = [&](SpanRecorder* recorder) -> std::function<void()> {
    study.episode_lengths.clear();
    options.spans = recorder;
    return [backend = std::make_shared<CpuBackend>(job, options), stop = question.stop] {
      if (backend->run({.stop = stop}).stopped)
        throw Error(Error::Kind::Cancelled, "the profile was stopped");
    };
  };
  study.work = fmt::format("{} on {}, {}, {} updates of {} samples", scenario.model.name,
                           scenario.cluster.name, data->name(), question.training.steps,
                           scenario.plan.batch.global);
  const SteadyClock clock;
  ProfileOptions profiled{question.levels, question.calibrated, question.rounds, question.stop,
                          question.progress};
  // A single device is worked on by the calling thread.
  if (scenario.cluster.count == 1) profiled.processor_time = thread_processor_time;
  study.spans = profile_spans(work, clock, profiled);
  if (question.levels.has(SpanLevel::Kernel))
    study.use = device_use(study.spans.corrected, question.window);
  return study;
}

}  // namespace trainyard
