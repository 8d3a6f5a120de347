// Tests what calibrate measures, but never how long it takes.
#include "backends/cpu/calibration/calibrate.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/calibration/rehearsal.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

Workload tiny(const testing::Settings& settings) {
  return prepare(testing::scenario(
      testing::gpt({.layers = 2, .hidden = 32, .heads = 2, .sequence = 16, .vocab = 64}), 2,
      settings, "cpu"));
}

using Asked = std::set<std::pair<std::int16_t, double>>;

Asked asked(const Workload& w) {
  Asked all;
  for (const Body& body : w.bodies)
    for (const auto* list : {&body.forward, &body.backward, &body.update})
      for (const BodyOp& op : *list)
        if (!op.communication) all.insert({op.work.kernel, op.work.flops.value});
  return all;
}

TEST(Calibrate, MeasuresEveryKernelThatAStepAsksFor) {
  for (const auto& [degree, precision] : {std::pair{"tp=2", "precision=fp32"},
                                          {"tp=2", "precision=bf16"},
                                          {"cp=2", "precision=fp32"}}) {
    const Workload w = tiny({degree, precision, "recompute=none"});
    const Calibration c = calibrate({&w, 1}, {.box = Duration{0}});
    Asked measured;
    for (const KernelTiming& timing : testing::non_empty(c.kernels)) {
      EXPECT_GT(timing.time.count(), 0);
      EXPECT_GE(timing.repeats, 3);
      measured.insert({timing.work.kernel, timing.work.flops.value});
    }
    EXPECT_EQ(measured, asked(w));
    EXPECT_GT(c.copy.rate.value, 0);
    EXPECT_GT(c.reduce.value, 0);
    EXPECT_GE(c.residual_worst, c.residual_median);
    EXPECT_FALSE(c.machine.empty());
  }
}

// Optimizers that keep state by tensor have it in a rehearsal, and muon's products are measured one
// by one.
TEST(Calibrate, MeasuresUpdatesThatKeepStateByTensor) {
  for (const char* rule : {"optimizer=adamw-8bit", "optimizer=adafactor", "optimizer=muon"}) {
    const Workload w = tiny({"dp=2", "precision=fp32", rule});
    const Calibration c = calibrate({&w, 1}, {.box = Duration{0}});
    Asked measured;
    for (const KernelTiming& timing : testing::non_empty(c.kernels)) {
      EXPECT_GT(timing.time.count(), 0) << rule;
      measured.insert({timing.work.kernel, timing.work.flops.value});
    }
    EXPECT_EQ(measured, asked(w)) << rule;
  }
}

// A rank multiplies the copies of tokens that a run would: its own, or those of all tensor ranks.
TEST(Calibrate, RehearsesExpertsHoweverTheyAreDivided) {
  const Model model = testing::tiny_transformer({.layers = 1, .family = "mixtral", .experts = 4});
  for (const testing::Settings& settings :
       {testing::Settings{"ep=2"}, {"tp=2"}, {"tp=2", "etp=1"}, {"ep=2", "tp=2", "etp=1"}}) {
    testing::Settings all = settings;
    all.insert(all.end(), {"precision=fp32", "micro-batch=2", "seq=4"});
    const Workload w = prepare(testing::scenario(model, 2, all, "cpu"));
    std::set<double> multiplied;  // FLOPs of every kernel of a forward
    for (const Body& body : w.bodies)
      for (const BodyOp& op : body.forward)
        if (!op.communication && op.work.kernel >= 0) multiplied.insert(op.work.flops.value);
    std::set<double> timed;
    Rehearsal(w, 64_MiB).run([&](const Work& work, Duration) { timed.insert(work.flops.value); });
    for (const double flops : testing::non_empty(multiplied))
      EXPECT_TRUE(timed.contains(flops)) << settings.front() << " " << flops;
  }
}

// Layers that exceed the memory share operands, so every layer is still timed.
TEST(Calibrate, ARehearsalTimesEveryLayerWhateverItHolds) {
  const Workload w = tiny({"pp=2", "precision=fp32"});
  const auto calls = [&](Bytes most) {
    std::size_t count = 0;
    Rehearsal(w, most).run([&](const Work& work, Duration) { count += work.kernel >= 0 ? 1 : 0; });
    return count;
  };
  std::size_t expected = 0;
  for (const auto& stage : w.runs)
    for (const Workload::Run& run : stage) {
      const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
      for (const auto* list : {&body.forward, &body.backward})
        for (const BodyOp& op : *list)
          expected += op.communication ? 0 : static_cast<std::size_t>(run.count);
    }
  EXPECT_EQ(calls(64_MiB), expected);  // two stages of one replica
  EXPECT_EQ(calls(1_B), expected);
}

TEST(Calibrate, StopsOnlyOnceThereIsSomething) {
  const Workload w = tiny({"precision=fp32"});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(calibrate({&w, 1}, {.box = Duration{0}, .stop = stop.get_token()}), Error);
}

}  // namespace
}  // namespace trainyard
