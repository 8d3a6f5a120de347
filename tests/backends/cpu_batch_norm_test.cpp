// Tests that replicas that share the statistics of batch norms train as one device does that has
// all their samples, and remember what it does.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/model/zoo/builders.h"
#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::apart;
using testing::CpuRun;
using testing::Settings;
using testing::tiny_convnet;
using testing::train_on_cpu;

Training small_steps() {
  Training t;
  t.rate = 0.05;
  t.steps = 3;
  return t;
}

// Trains so many replicas of so many samples each, in one microbatch.
CpuRun train_replicas(const Model& model, std::int64_t replicas, std::int64_t samples,
                      const Settings& words, const CpuOptions& options = {}) {
  const std::string global = "global-batch=" + std::to_string(replicas * samples),
                    micro = "micro-batch=" + std::to_string(samples);
  Settings all = {"optimizer=sgd", global, micro};
  all.insert(all.end(), words.begin(), words.end());
  return train_on_cpu(model, replicas, all, small_steps(), options);
}

void expect_same_bits(const std::vector<TrainedTensor>& a, const std::vector<TrainedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t t = 0; t < testing::non_empty(a).size(); ++t)
    EXPECT_EQ(a[t].values, b[t].values) << a[t].name;
}

Model drawn_convnet() {
  if (*rc::gen::arbitrary<bool>()) return tiny_convnet(*rc::gen::inRange(1, 5));
  return build_convnet({"tiny cnn", 8, *rc::gen::inRange<std::int64_t>(1, 4), 3,
                        *rc::gen::inRange<std::int64_t>(1, 4),
                        *rc::gen::inRange<std::int64_t>(1, 3),
                        *rc::gen::inRange<std::int64_t>(1, 3)});
}

RC_GTEST_PROP(CpuBatchNorm, SharedStatisticsTrainAsOneDeviceWithAllSamples, ()) {
  const Model model = drawn_convnet();
  const auto replicas = *rc::gen::inRange<std::int64_t>(2, 6),
             samples = *rc::gen::inRange<std::int64_t>(1, 4);
  const CpuRun alone = train_replicas(model, 1, replicas * samples, {}),
               shared = train_replicas(model, replicas, samples, {"batch-norm=replicas"});
  testing::expect_same_training(shared, alone, 1e-5);
  RC_ASSERT(!::testing::Test::HasFailure());
  RC_ASSERT(apart(shared.statistics, alone.statistics) < 1e-5);
}

// The law above would notice: statistics of one replica each train otherwise.
TEST(CpuBatchNorm, StatisticsOfOneReplicaTrainOtherwise) {
  const Model model = tiny_convnet(3);
  const CpuRun alone = train_replicas(model, 1, 4, {}), own = train_replicas(model, 4, 1, {}),
               shared = train_replicas(model, 4, 1, {"batch-norm=replicas"});
  EXPECT_GT(apart(own.parameters, alone.parameters), 1e-3);
  EXPECT_GT(apart(own.statistics, alone.statistics), 1e-3);
  EXPECT_LT(apart(shared.parameters, alone.parameters), 1e-6);
  EXPECT_LT(apart(shared.statistics, alone.statistics), 1e-6);
}

// Devices that divide a replica, its state or its pipeline, and forwards that run again, all train
// as replicas do that are each one device.
TEST(CpuBatchNorm, EveryPlanTrainsAsWholeReplicas) {
  struct SharingPlan {
    std::int64_t devices;
    Settings words;
  };
  const SharingPlan plans[] = {
      {2, {"overlap=off"}},
      {2, {"recompute=full"}},
      {2, {"recompute=op"}},
      {2, {"recompute=blocks=1"}},
      {2, {"recompute=keep=input"}},
      {2, {"zero=1"}},
      {2, {"zero=2"}},
      {2, {"zero=3"}},
      {2, {"zero=3", "reshard-after-forward=off", "recompute=full"}},
      {2, {"schedule=gpipe"}},
      {2, {"schedule=gpipe", "offload=activations"}},
      {2, {"offload=optimizer"}},
      {4, {"tp=2"}},
      {4, {"pp=2"}},
      {4, {"pp=2", "zero=2", "recompute=full"}},
      {4, {"pp=2", "schedule=zb-h1"}},
      {4, {"pp=2", "schedule=zb-h2", "zero=1"}},
      {4, {"pp=2", "schedule=interleaved", "virtual-stages=2"}},
      {4, {"pp=2", "schedule=zb-v", "virtual-stages=2", "recompute=full"}},
      {4, {"pp=2", "schedule=dualpipe-v", "virtual-stages=2"}},
      {4, {"pp=2", "schedule=chimera"}},
      {4, {"pp=2", "schedule=dualpipe"}},
  };
  CpuOptions options;
  options.processor_time = [now = Duration{}]() mutable {
    return now += std::chrono::microseconds{10};
  };
  for (const Model& model : {tiny_convnet(4), build_convnet({"tiny cnn", 8, 1, 3, 2, 2, 2})}) {
    const auto trained = [&](std::int64_t devices, const Settings& words) {
      Settings all = {"optimizer=momentum", "dp=2", "global-batch=16", "micro-batch=2",
                      "batch-norm=replicas"};
      all.insert(all.end(), words.begin(), words.end());
      return train_on_cpu(model, devices, all, small_steps(), options);
    };
    const CpuRun plain = trained(2, {});
    for (const SharingPlan& plan : plans) {
      std::string text = model.name;
      for (const std::string_view word : plan.words) text += " " + std::string(word);
      SCOPED_TRACE(text);
      try {
        const CpuRun run = trained(plan.devices, plan.words);
        testing::expect_same_training(run, plain, 1e-5);
        for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(run.program.devices); ++d) {
          const MemoryWave predicted = memory_wave(run.run.timeline, run.program, DeviceId{d});
          EXPECT_GE(total(run.run.waves[d].samples[run.run.waves[d].peak].bytes),
                    total(predicted.samples[predicted.peak].bytes));
        }
      } catch (const Error& error) {
        ADD_FAILURE() << describe(error);
      }
    }
  }
}

// The samples that replicas have in a microbatch, one replica's behind the other's, as one device
// takes them. Images and labels have their samples outermost.
class Dealt final : public DataSource {
 public:
  Dealt(std::int64_t replicas, std::int64_t microbatches, std::int64_t samples)
      : replicas_(replicas), microbatches_(microbatches), samples_(samples) {}
  std::string_view name() const override { return "dealt"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1000; }
  std::int64_t evaluation_samples() const override { return 100; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override { deal(r, out); }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override { deal(r, out); }

 private:
  std::int64_t dealt(std::int64_t sample) const {
    const std::int64_t all = replicas_ * samples_, microbatch = sample / all,
                       replica = sample % all / samples_;
    return ((microbatch / microbatches_ * replicas_ + replica) * microbatches_ +
            microbatch % microbatches_) *
               samples_ +
           sample % samples_;
  }
  template <class T>
  void deal(const DataRequest& r, std::span<T> out) const {
    const std::size_t each = out.size() / static_cast<std::size_t>(r.shape[0]);
    for (std::int64_t b = 0; b < r.shape[0]; ++b) {
      std::vector<std::int64_t> one(r.shape.begin(), r.shape.end());
      one[0] = 1;
      const DataRequest of_one{r.model, r.graph, r.tensor, one, dealt(r.first_sample + b)};
      testing::SampleNumbers().fill(of_one, out.subspan(static_cast<std::size_t>(b) * each, each));
    }
  }
  std::int64_t replicas_, microbatches_, samples_;
};

// Several microbatches in any schedule, also one that updates while they are under way.
TEST(CpuBatchNorm, EveryScheduleTrainsAsOneReplicaOfAllSamples) {
  struct ScheduleCase {
    int pp;
    Settings words;
  };
  const ScheduleCase cases[] = {
      {1, {}},
      {1, {"schedule=tick-tock", "tick-tock.sync=async"}},
      {2, {"schedule=gpipe"}},
      {2, {"schedule=pipedream"}},
      {2, {"schedule=pipedream-2bw"}},
      {2, {"schedule=pipemare"}},
  };
  for (const Model& model : {tiny_convnet(4), build_convnet({"tiny cnn", 8, 1, 3, 2, 2, 2})})
    for (const ScheduleCase& c : cases) {
      std::string text = model.name;
      for (const std::string_view word : c.words) text += " " + std::string(word);
      SCOPED_TRACE(text);
      const std::string pp = "pp=" + std::to_string(c.pp);
      Settings all = {"optimizer=momentum", "global-batch=24", pp};
      all.insert(all.end(), c.words.begin(), c.words.end());
      Settings alone = all, shared = all;
      alone.insert(alone.end(), {"micro-batch=6"});
      shared.insert(shared.end(), {"micro-batch=2", "dp=3", "batch-norm=replicas"});
      try {
        const CpuRun one = train_on_cpu(model, c.pp, alone, small_steps(), {}, Dealt(3, 4, 2)),
                     several = train_on_cpu(model, c.pp * 3, shared, small_steps());
        testing::expect_same_training(several, one, 1e-5);
        EXPECT_LT(apart(several.statistics, one.statistics), 1e-5);
      } catch (const Error& error) {
        ADD_FAILURE() << describe(error);
      }
    }
}

// Sixteen bits, norms whose weights are frozen, and schedules without a flush go on alike whoever
// is faster.
TEST(CpuBatchNorm, SharedStatisticsGiveTheSameBitsOnThreads) {
  for (const Settings& words : {Settings{"dp=2"},
                                {"dp=4"},
                                {"dp=2", "pp=2", "precision=bf16"},
                                {"dp=2", "pp=2", "schedule=pipedream"},
                                {"dp=2", "pp=2", "schedule=zb-h1", "zero=1"},
                                {"dp=2", "frozen=layers"},
                                {"dp=2", "frozen=all-but-head"}}) {
    std::string text;
    for (const std::string_view word : words) text += " " + std::string(word);
    SCOPED_TRACE(text);
    Settings all = {"global-batch=16", "micro-batch=2", "batch-norm=replicas"};
    all.insert(all.end(), words.begin(), words.end());
    const std::int64_t devices = words[0] == "dp=4" || text.find("pp=2") != text.npos ? 4 : 2;
    CpuOptions wall;
    wall.mode = RunMode::WallClock;
    wall.threads = 3;
    try {
      const CpuRun a = train_on_cpu(tiny_convnet(2), devices, all, small_steps()),
                   b = train_on_cpu(tiny_convnet(2), devices, all, small_steps(), wall);
      EXPECT_EQ(a.run.losses, b.run.losses);
      expect_same_bits(a.parameters, b.parameters);
      expect_same_bits(a.statistics, b.statistics);
    } catch (const Error& error) {
      ADD_FAILURE() << describe(error);
    }
  }
}

RC_GTEST_PROP(CpuBatchNorm, AFasterLinkIsNeverSlowerInTheSimulator, ()) {
  const Model model = tiny_convnet(*rc::gen::inRange(1, 4));
  const std::int64_t devices = std::int64_t{1} << *rc::gen::inRange(1, 7);
  const std::string micro = "micro-batch=" + std::to_string(*rc::gen::inRange(1, 5)),
                    zero = "zero=" + std::to_string(*rc::gen::inRange(0, 4)),
                    overlap = *rc::gen::arbitrary<bool>() ? "overlap=on" : "overlap=off";
  Scenario slow = testing::scenario(model, devices, {"batch-norm=replicas", micro, zero, overlap});
  slow.cluster.name = "slow";  // a cluster of a known name keeps its own links
  Scenario fast = slow;
  fast.cluster.name = "fast";
  const auto better = *rc::gen::inRange(0, 3);
  for (Level& level : fast.cluster.levels) {
    if (better != 0) level.bandwidth.value.value *= 2;
    if (better != 1) level.latency.value /= 2;
  }
  const auto step = [](const Scenario& s) {
    const Workload w = prepare(s);
    const auto cost = physical_cost_model(w.scenario);
    const Program p = lower(w, {.times = phase_times(w, *cost)});
    return step_window(simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost)), p)
        .length();
  };
  RC_ASSERT(step(fast) <= step(slow));
}

}  // namespace
}  // namespace trainyard
