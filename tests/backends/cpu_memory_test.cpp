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

}  // namespace
}  // namespace trainyard
