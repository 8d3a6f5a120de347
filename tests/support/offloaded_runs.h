// Runs of plans that keep something on the host, and what their tests compare.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/cpu_training.h"

namespace trainyard::testing {

inline std::string offload_words(const Model& model, const Settings& settings) {
  std::string text = model.name;
  for (std::string_view one : settings) text += " " + std::string(one);
  return text;
}

inline Settings with_words(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

inline Training of_steps_and_clip(std::int64_t steps, double clip) {
  Training t;
  t.rate = 0.05;
  t.steps = steps;
  t.clip = clip;
  return t;
}

inline void expect_same_bits(const CpuRun& run, const CpuRun& here) {
  EXPECT_EQ(run.run.losses, here.run.losses);
  ASSERT_EQ(run.parameters.size(), here.parameters.size());
  for (std::size_t i = 0; i < run.parameters.size(); ++i)
    EXPECT_EQ(run.parameters[i].values, here.parameters[i].values) << run.parameters[i].name;
}

// A run whose kernels all take equally long.
struct TimedRun {
  static constexpr Duration kKernel = std::chrono::microseconds(10);

  TimedRun(const Scenario& s, std::int64_t steps = 2)
      : workload(prepare(s)), program(lower(workload, {.grain = Grain::Op})) {
    prices = price(program, workload.scenario.plan.mesh, workload.scenario.cluster,
                   *roofline_cost_model());
    for (std::size_t t = 0; t < program.tasks.size(); ++t)
      if (program.tasks[t].kind == TaskKind::Compute) prices.time[t] = kKernel, prices.fill[t] = 1;
    const Training training = of_steps_and_clip(steps, 0);
    const SampleNumbers numbers;
    Duration clock{};  // read before and after every kernel
    CpuOptions options;
    options.processor_time = [&] { return clock += kKernel; };
    options.poison = true;
    run = CpuBackend({workload, program, prices, &training, &numbers}, options).run();
    predicted = simulate(program, prices);
  }
  Duration step() const { return makespan(run.timeline); }
  Bytes peak() const {
    Bytes most{};
    for (const MemoryWave& wave : run.waves) most = std::max(most, peak_of(wave));
    return most;
  }

  Workload workload;
  Program program;
  TaskPrices prices;
  BackendRun run;
  Timeline predicted;
};

}  // namespace trainyard::testing
