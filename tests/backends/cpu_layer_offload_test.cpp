// Tests runs whose hosts keep activations layer by layer between forward and backward: they train
// to the bits of a run that keeps all on its devices, in the time and the memory that their
// programs state. Memory that holds nothing reads as NaN, on devices and hosts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/cluster/host.h"
#include "core/lowering/host_memory.h"
#include "core/lowering/layer_copies.h"
#include "core/model/zoo/builders.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"
#include "tests/support/offloaded_runs.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::TimedRun;
using testing::with_words;

struct LayerPlan {
  int devices;
  Settings settings;
};
const LayerPlan kLayerPlans[] = {
    {1, {"offload-layers=all"}},
    {1, {"offload-layers=all", "offload-in-flight=3"}},
    {1, {"offload-layers=all*3,none*2,all", "schedule=gpipe"}},
    {1, {"offload-layers=made=input+attention", "recompute=op"}},
    {1, {"offload-layers=all", "recompute=full"}},
    {4, {"offload-layers=all", "pp=4", "schedule=1f1b"}},
    {2, {"offload-layers=all", "pp=2", "schedule=gpipe", "offload-in-flight=2"}},
    {2, {"offload-layers=all*1,none/all", "pp=2"}},
    {2, {"offload-layers=all", "pp=2", "schedule=interleaved", "virtual-stages=2"}},
    {2, {"offload-layers=all", "dp=2", "zero=1"}},
    {2, {"offload-layers=all", "dp=2", "zero=3"}},
    {2, {"offload-layers=all", "tp=2", "sequence-parallel=off"}},
    {2, {"offload-layers=all", "tp=2", "seq=4"}},
    {2, {"offload-layers=all", "cp=2", "seq=4"}},
    {2, {"offload-layers=all", "dp=2", "overlap=off", "offload=both"}},
};

void expect_layers_change_no_bit(const Model& model, const LayerPlan& plan, const Settings& more) {
  const Settings moved = with_words(
      with_words({"global-batch=16", "micro-batch=2", "optimizer=adamw", "offload=activations"},
                 plan.settings),
      more);
  SCOPED_TRACE(testing::offload_words(model, moved));
  const Scenario scenario = testing::scenario(model, plan.devices, moved, "cpu");
  ASSERT_FALSE(has_errors(check(scenario))) << check(scenario).back().message;
  const Training training = testing::of_steps_and_clip(2, 1);
  const CpuRun here =
      testing::train_on_cpu(model, plan.devices, with_words(moved, {"offload=none"}), training);
  const CpuRun there = testing::train_on_cpu(model, plan.devices, moved, training);
  testing::expect_same_bits(there, here);
  Bytes host{};
  for (const DeviceMemory& m : there.run.memory) host = std::max(host, m.host);
  EXPECT_GT(host, Bytes{});
  EXPECT_LE(host, host_memory(there.workload)->device);
}

TEST(CpuLayerOffload, ChangesNoBitInAnyPlan) {
  for (const LayerPlan& plan : testing::non_empty(testing::sampled(kLayerPlans, 4)))
    expect_layers_change_no_bit(testing::tiny_transformer({.layers = 8}), plan, {});
}

TEST(CpuLayerOffload, ChangesNoBitInAnyPrecision) {
  for (const char* precision :
       {"precision=fp32", "precision=bf16", "precision=fp16", "precision=fp8"})
    expect_layers_change_no_bit(testing::tiny_transformer({.layers = 8}), kLayerPlans[1],
                                {precision});
}

// Outputs that layers keep, statistics of a batch, experts, tables that stages share.
TEST(CpuLayerOffload, ChangesNoBitOfAnyModel) {
  for (const Model& model :
       {testing::tiny_mlp(8), testing::tiny_convnet(8), testing::tiny_encoder(8),
        testing::tiny_transformer({.layers = 8, .family = "llama", .experts = 4}),
        testing::tiny_transformer({.layers = 8, .tied = true})})
    for (const LayerPlan& plan : {kLayerPlans[0], kLayerPlans[5]})
      expect_layers_change_no_bit(model, plan, {});
  expect_layers_change_no_bit(testing::tiny_convnet(8), {1, {"offload-layers=convolutions"}}, {});
}

TEST(CpuLayerOffload, ChangesNoBitByTheWallClock) {
  const Settings settings = {"global-batch=16", "micro-batch=2"};
  const Model model = testing::tiny_transformer({.layers = 8});
  const Training training = testing::of_steps_and_clip(2, 1);
  const CpuRun here = testing::train_on_cpu(model, 1, settings, training);
  CpuOptions wall;
  wall.mode = RunMode::WallClock;
  wall.threads = 2;
  testing::expect_same_bits(
      testing::train_on_cpu(model, 1,
                            with_words(settings, {"offload=activations", "offload-layers=all"}),
                            training, wall),
      here);
}

TEST(CpuLayerOffload, TakesTheTimeAndTheMemoryOfTheSimulator) {
  for (const double rate : {18.5e9, 1e8})
    for (const LayerPlan& plan : {kLayerPlans[0], kLayerPlans[1], kLayerPlans[6], kLayerPlans[8]}) {
      Scenario s = testing::scenario(
          testing::tiny_transformer({.layers = 8}), plan.devices,
          with_words({"global-batch=16", "micro-batch=2", "precision=fp32", "offload=activations"},
                     plan.settings),
          "cpu");
      s.cluster.device.host_link.value = {rate};
      const TimedRun timed(s);
      EXPECT_EQ(timed.run.timeline.spans, timed.predicted.spans);
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(timed.program.devices); ++d) {
        const double told = static_cast<double>(
            peak_of(memory_wave(timed.predicted, timed.program, DeviceId{d})).value);
        EXPECT_NEAR(static_cast<double>(peak_of(timed.run.waves[d]).value), told, 0.02 * told);
      }
    }
}

// A chain of sixteen equal layers on one device.
Scenario sixteen_layers(const Settings& offload, double host_link) {
  Scenario s = testing::scenario(
      build_mlp({"chain", 64, 64, 16, 64}), 1,
      with_words({"global-batch=2048", "micro-batch=1024", "precision=fp32", "optimizer=sgd"},
                 offload),
      "cpu");
  s.cluster.device.host_link.value = {host_link};
  return s;
}
const Settings kAllLayers = {"offload=activations", "offload-layers=all"};

// The most bytes that a layer moves, and the least time of a layer: in forward, of two kernels.
struct ChainLayer {
  explicit ChainLayer(const TimedRun& run) {
    for (const Task& task : run.program.tasks)
      if (task.kind == TaskKind::HostCopy)
        bytes = std::max(bytes, static_cast<double>(task.bytes.value));
    for (const Instruction& in : run.program.instructions)
      if (const Task& task = run.program.task(in);
          task.kind == TaskKind::HostCopy && task.phase == Phase::Forward)
        sent += static_cast<double>(task.bytes.value);
  }
  double bytes = 0, sent = 0;
  double computes = 2 * to_seconds(TimedRun::kKernel);
  double share = host_of(make_cluster(device("cpu"), 1)).link_share;
};

TEST(CpuLayerOffload, HalvesThePeakOfSixteenLayersInTheirTime) {
  const TimedRun here(sixteen_layers({}, 18.5e9));
  const ChainLayer layer(TimedRun(sixteen_layers(kAllLayers, 18.5e9), 1));
  const TimedRun there(sixteen_layers(kAllLayers, layer.bytes / layer.computes / layer.share));
  std::printf("peak %.3f of the plain run's, time %.3f\n",
              static_cast<double>(there.peak().value) / static_cast<double>(here.peak().value),
              to_seconds(there.step()) / to_seconds(here.step()));
  EXPECT_LE(2 * there.peak().value, here.peak().value);
  EXPECT_LE(to_seconds(there.step()), 1.1 * to_seconds(here.step()));
  EXPECT_EQ(there.run.losses, here.run.losses);
}

TEST(CpuLayerOffload, ASlowLinkCostsWhatIsPredicted) {
  const TimedRun here(sixteen_layers({}, 18.5e9));
  const ChainLayer layer(TimedRun(sixteen_layers(kAllLayers, 18.5e9), 1));
  for (const double slower : {0.5, 0.1}) {
    const double rate = slower * layer.bytes / layer.computes;
    const TimedRun there(sixteen_layers(kAllLayers, rate / layer.share));
    EXPECT_LE(2 * there.peak().value, here.peak().value) << slower;
    EXPECT_EQ(there.step(), makespan(there.predicted)) << slower;
    // All but the last copies have to be down before their backward begins to need them.
    EXPECT_GE(to_seconds(there.step()), layer.sent / rate) << slower;
    EXPECT_EQ(there.run.losses, here.run.losses) << slower;
  }
}

}  // namespace
}  // namespace trainyard
