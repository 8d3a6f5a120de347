// What a run holds, by category, equals the ledger of its program: to the byte for what is kept,
// and within two per cent in total.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

CategoryBytes largest(const MemoryWave& wave) {
  CategoryBytes most{};
  for (const MemoryWave::Sample& s : wave.samples)
    for (std::size_t c = 0; c < most.size(); ++c) most[c] = std::max(most[c], s.bytes[c]);
  return most;
}

TEST(CpuMemory, IsWhatTheLedgerSaysByCategory) {
  struct Case {
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {
      {1, {"recompute=full"}},
      {1, {"recompute=op"}},
      {1, {"recompute=full*2,keep=input*3,none"}},
      {2, {"pp=2", "schedule=gpipe"}},
      {2, {"pp=2", "schedule=zb-h1"}},
      {2, {"pp=2", "schedule=zb-h2", "recompute=full"}},
      {2, {"pp=2", "schedule=zb-h1", "recompute=keep=input*3,full/op*2,none"}},
      {2, {"pp=2", "schedule=zb-v", "virtual-stages=2"}},
      {2, {"pp=2", "schedule=interleaved", "virtual-stages=2"}},
      {2, {"pp=2", "schedule=dualpipe"}},
      {2, {"pp=2", "schedule=chimera"}},
      {2, {"dp=2", "zero=1"}},
      {2, {"dp=2", "zero=2"}},
      {2, {"dp=2", "zero=3"}},
      {2, {"dp=2", "zero=3", "reshard-after-forward=off"}},
      {4, {"dp=2", "pp=2", "zero=3", "reshard-after-forward=off"}},
      {4, {"tp=2", "pp=2", "sequence-parallel=off"}},
  };
  for (const Case& c : testing::non_empty(cases))
    for (const Model& model : {testing::tiny_mlp(8), testing::tiny_transformer({.layers = 8})}) {
      std::string name = model.name;
      Settings settings = {"global-batch=8", "micro-batch=1", "optimizer=adamw"};
      for (std::string_view one : c.settings) {
        name += " " + std::string(one);
        settings.push_back(one);
      }
      SCOPED_TRACE(name);
      Training training;
      training.steps = 1;
      const CpuRun t = testing::train_on_cpu(model, c.devices, settings, training);
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(t.program.devices); ++d) {
        const MemoryWave predicted = memory_wave(t.run.timeline, t.program, DeviceId{d});
        const MemoryWave& measured = t.run.waves[d];
        const CategoryBytes a = largest(measured), b = largest(predicted);
        for (Category kept : {Category::Weights, Category::Gradients, Category::OptimizerState,
                              Category::Activations, Category::Recomputed})
          EXPECT_EQ(a[static_cast<std::size_t>(kept)], b[static_cast<std::size_t>(kept)])
              << to_string(kept) << " of device " << d;
        const auto all = [](const MemoryWave& wave) {
          return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
        };
        EXPECT_NEAR(all(measured), all(predicted), 0.02 * all(predicted)) << "device " << d;
      }
    }
}

// Where every kernel takes the same time on both sides, an asynchronous run holds what was
// predicted of it: its peak is that of the simulated program.
TEST(CpuMemory, OfAsynchronousSchedulesIsThatOfTheSimulator) {
  const Settings cases[] = {
      {"schedule=pipedream", "optimizer=adamw"},
      {"schedule=pipedream", "pipedream.sync=vertical", "optimizer=sgd"},
      {"schedule=pipedream-2bw", "optimizer=momentum"},
      {"schedule=pipemare", "optimizer=adamw"},
      {"schedule=pipemare", "pipemare.flow=1f1b", "pipemare.warmup=1", "optimizer=momentum"},
      {"schedule=pipemare", "pipemare.correct=off", "optimizer=sgd"},
      {"schedule=pipelined-backprop", "optimizer=momentum"},
      {"schedule=pipelined-backprop", "pipelined-backprop.predict=weight", "optimizer=momentum"},
      {"schedule=pipelined-backprop", "pipelined-backprop.predict=none", "optimizer=sgd"},
      {"schedule=pipelined-backprop", "pipelined-backprop.stash=on", "optimizer=momentum"},
  };
  for (const Settings& chosen : testing::non_empty(cases))
    for (const int stages : {2, 4}) {
      const std::string mesh = "pp=" + std::to_string(stages);
      Settings settings = {"precision=fp32", "global-batch=4", "micro-batch=1", mesh};
      settings.insert(settings.end(), chosen.begin(), chosen.end());
      std::string name;
      for (std::string_view one : settings) name += std::string(one) + " ";
      SCOPED_TRACE(name);
      const Workload w = prepare(
          testing::scenario(testing::tiny_transformer({.layers = 8}), stages, settings, "cpu"));
      LowerOptions lowering;
      lowering.grain = Grain::Op;
      lowering.steps = 7;
      const Program program = lower(w, lowering);
      TaskPrices prices =
          price(program, w.scenario.plan.mesh, w.scenario.cluster, *roofline_cost_model());
      constexpr Duration kKernel = std::chrono::microseconds(10);
      for (std::size_t t = 0; t < program.tasks.size(); ++t)
        if (program.tasks[t].kind == TaskKind::Compute)
          prices.time[t] = kKernel, prices.fill[t] = 1;
      Training training;
      training.steps = 7;
      const testing::SampleNumbers numbers;
      Duration clock{};  // read before and after every kernel
      CpuOptions options;
      options.processor_time = [&] { return clock += kKernel; };
      const BackendRun run = CpuBackend({w, program, prices, &training, &numbers}, options).run();
      const Timeline predicted = simulate(program, prices);
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d) {
        const double expected =
            static_cast<double>(peak_of(memory_wave(predicted, program, DeviceId{d})).value);
        EXPECT_NEAR(static_cast<double>(peak_of(run.waves[d]).value), expected, 0.02 * expected)
            << "device " << d;
      }
    }
}

}  // namespace
}  // namespace trainyard
