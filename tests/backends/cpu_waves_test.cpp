// Tests waves that share a device as they are trained for real: kernels take as long as they take,
// beside whatever else the machine does, and the waves hold what was predicted nevertheless.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

#include "core/model/zoo/zoo.h"
#include "core/timeline/compare.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

struct WavesCase {
  const char *model, *batch, *micro;
};

TimelineComparison compared(const CpuRun& t) {
  const Scenario& s = t.workload.scenario;
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(t.program, s.plan.mesh, s.cluster, *cost);
  const Timeline predicted = simulate(t.program, prices);
  return compare(t.program, {predicted, {memory_wave(predicted, t.program, DeviceId{0})}},
                 {t.run.timeline, t.run.waves}, prices.recompute_share);
}

// The prices are those of nothing measured, and the run may be several times as long.
TEST(CpuWaves, HoldWhatWasPredictedWhateverTheirWorkTakes) {
  const WavesCase all[] = {{"mlp-small", "global-batch=64", "micro-batch=32"},
                           {"gpt-tiny", "global-batch=4", "micro-batch=2"},
                           {"resnet-20", "global-batch=16", "micro-batch=8"}};
  const std::size_t models = testing::sanitized() ? 1 : std::size(all);
  for (std::size_t i = 0; i < models; ++i)
    for (const char* policy : {"half-cycle", "exclusive", "custom"})
      for (const char* sync : {"accumulate", "async", "local"})
        for (const RunMode mode : {RunMode::VirtualTime, RunMode::WallClock}) {
          const std::string chosen = std::string("tick-tock.policy=") + policy;
          const std::string how = std::string("tick-tock.sync=") + sync;
          SCOPED_TRACE(std::string(all[i].model) + " " + chosen + " " + how +
                       (mode == RunMode::WallClock ? " by the wall clock" : ""));
          Training training;
          training.steps = 3;
          CpuOptions options;
          options.mode = mode;
          const CpuRun t =
              testing::train_on_cpu(zoo_model(all[i].model), 1,
                                    {"schedule=tick-tock", chosen, how, "tick-tock.offset=0.35",
                                     all[i].batch, all[i].micro},
                                    training, options);
          const TimelineComparison c = compared(t);
          for (const WaveResidual& wave : testing::non_empty(c.waves)) {
            EXPECT_LE(wave.over_work_share(), 0.05);
            EXPECT_LE(wave.peak_share(), 0.02);
            EXPECT_GE(wave.peak_share(), -0.05);
          }
        }
}

// Waves that add up one gradient reduce it once, when all of them have ended: they train as 1F1B
// does, whatever divides the replica beside them.
RC_GTEST_PROP(CpuWaves, ThatAddUpTheirGradientsTrainAs1F1B, ()) {
  const auto waves = *rc::gen::inRange<std::int64_t>(2, 4),
             dp = *rc::gen::inRange<std::int64_t>(1, 4),
             pp = *rc::gen::element<std::int64_t>(1, 1, 2),
             each = *rc::gen::inRange<std::int64_t>(1, 3);
  const std::string batch = "global-batch=" + std::to_string(2 * waves * dp * each),
                    replicas = "dp=" + std::to_string(dp), stages = "pp=" + std::to_string(pp),
                    zero = "zero=" + std::to_string(*rc::gen::inRange(0, 4)),
                    overlap = *rc::gen::arbitrary<bool>() ? "overlap=on" : "overlap=off",
                    policy = std::string("tick-tock.policy=") +
                             *rc::gen::element("half-cycle", "exclusive", "aligned"),
                    number = "tick-tock.waves=" + std::to_string(waves);
  const Model model = *rc::gen::arbitrary<bool>() ? testing::tiny_mlp(4) : testing::tiny_convnet(2);
  Settings alone = {"optimizer=momentum", batch, "micro-batch=2", replicas, stages, zero, overlap};
  Settings together = alone;
  together.insert(together.end(),
                  {"schedule=tick-tock", "tick-tock.sync=accumulate", number, policy});
  // ZeRO gathers weights in the lane that updates them, which lanes that share a device read
  // before.
  RC_PRE(zero == "zero=0" || pp > 1 || dp == 1);
  Training training;
  training.steps = 3;
  training.rate = 0.05;
  training.momentum = 0.5;
  const CpuRun one = testing::train_on_cpu(model, dp * pp, alone, training),
               several = testing::train_on_cpu(model, dp * pp, together, training);
  testing::expect_same_training(several, one, 1e-5);
  RC_ASSERT(!::testing::Test::HasFailure());
}

// Tick-Tock's promise: where backward takes about twice forward, two waves half a cycle apart hold
// at most 0.72 of the activations of two that are aligned.
// Each further wave that updates for itself keeps a further version of the weights.
TEST(CpuWaves, AnyNumberOfThemHoldsWhatWasPredicted) {
  for (const char* waves : {"tick-tock.waves=3", "tick-tock.waves=4"})
    for (const char* sync : {"accumulate", "async", "local"}) {
      SCOPED_TRACE(std::string(waves) + " " + sync);
      Training training;
      training.steps = 4;
      const CpuRun t =
          testing::train_on_cpu(zoo_model("mlp-small"), 1,
                                {"schedule=tick-tock", waves, std::string("tick-tock.sync=") + sync,
                                 "global-batch=96", "micro-batch=8"},
                                training);
      EXPECT_TRUE(std::isfinite(t.run.losses.back()));
      const TimelineComparison c = compared(t);
      for (const WaveResidual& wave : testing::non_empty(c.waves))
        EXPECT_LE(wave.peak_share(), 0.0);
    }
}

TEST(CpuWaves, HalfACycleApartHoldLessThanAligned) {
  const auto activations = [](const char* policy) {
    Training training;
    training.steps = 3;
    const std::string chosen = std::string("tick-tock.policy=") + policy;
    const CpuRun t = testing::train_on_cpu(
        zoo_model("gpt-tiny"), 1, {"schedule=tick-tock", chosen, "global-batch=8", "micro-batch=4"},
        training);
    Bytes most{};
    for (const MemoryWave::Sample& s : t.run.waves.at(0).samples)
      most = std::max(most, s.bytes[static_cast<std::size_t>(Category::Activations)]);
    return most;
  };
  EXPECT_LE(activations("half-cycle") / activations("aligned"), 0.72);
}

}  // namespace
}  // namespace trainyard
