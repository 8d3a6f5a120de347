// Tests runs whose hosts keep optimizer state, activations or both: they train to the bits of a run
// that keeps all on its devices, in the time and the memory that their programs state. Memory that
// holds nothing reads as NaN, on devices and hosts, so that a copy left out shows in the loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/cluster/host.h"
#include "core/lowering/host_memory.h"
#include "core/model/zoo/builders.h"
#include "core/program/offloaded.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"
#include "tests/support/offloaded_runs.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::expect_same_bits;
using testing::of_steps_and_clip;
using testing::offload_words;
using testing::Settings;
using testing::TimedRun;
using testing::with_words;

constexpr std::string_view kHosts[] = {"offload=optimizer", "offload=activations", "offload=both"};

struct OffloadedPlan {
  int devices;
  Settings settings;
};
const OffloadedPlan kOffloadedPlans[] = {
    {1, {"schedule=gpipe"}},
    {4, {"pp=4", "schedule=1f1b"}},
    {4, {"pp=4", "schedule=gpipe"}},
    {2, {"pp=2", "schedule=interleaved", "virtual-stages=2"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe"}},
    {4, {"pp=2", "tp=2", "schedule=gpipe", "sequence-parallel=off"}},
    {4, {"pp=2", "tp=2", "schedule=gpipe", "seq=4"}},
    {4, {"pp=2", "cp=2", "schedule=gpipe", "seq=4"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=1"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=2"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=3"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=3", "reshard-after-forward=off"}},
    {4, {"pp=4", "schedule=gpipe", "recompute=full"}},
    {4, {"pp=4", "schedule=gpipe", "recompute=op"}},
    {4, {"pp=2", "dp=2", "schedule=gpipe", "overlap=off"}},
    {4, {"pp=4", "schedule=zb-h1"}},
};

// Returns how many of the hosts' plans ran.
int expect_offload_changes_no_bit(const Model& model, const OffloadedPlan& plan,
                                  const Settings& more, double clip) {
  const Settings settings = with_words(
      with_words(plan.settings, {"global-batch=16", "micro-batch=1", "optimizer=adamw"}), more);
  SCOPED_TRACE(offload_words(model, settings));
  const Training training = of_steps_and_clip(3, clip);
  const CpuRun here = testing::train_on_cpu(model, plan.devices, settings, training);
  int ran = 0;
  for (std::string_view host : kHosts) {
    const Settings moved = with_words(settings, {host});
    if (has_errors(check(testing::scenario(model, plan.devices, moved, "cpu")))) continue;
    SCOPED_TRACE(std::string(host));
    const CpuRun there = testing::train_on_cpu(model, plan.devices, moved, training);
    expect_same_bits(there, here);
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(there.program.devices); ++d) {
      const auto held = static_cast<double>(peak_of(there.run.waves[d]).value);
      const auto told = static_cast<double>(
          peak_of(memory_wave(there.run.timeline, there.program, DeviceId{d})).value);
      // Experts may have more copies of tokens than their share.
      EXPECT_NEAR(held, told, (there.workload.layout.binding.ep == 1 ? 0.02 : 0.2) * told) << d;
    }
    ++ran;
  }
  return ran;
}

TEST(CpuOffload, ChangesNoBitUnderAnySchedule) {
  int ran = 0, refused = 0;
  for (const OffloadedPlan& plan : testing::non_empty(testing::sampled(kOffloadedPlans, 5))) {
    const int of_plan =
        expect_offload_changes_no_bit(testing::tiny_transformer({.layers = 8}), plan, {}, ran % 2);
    ran += of_plan;
    refused += 3 - of_plan;
  }
  // The backward of zb-h1 in two parts keeps its activations.
  EXPECT_GT(ran, 0);
  EXPECT_EQ(refused, 2);
}

TEST(CpuOffload, ChangesNoBitInAnyPrecision) {
  const OffloadedPlan plans[] = {{4, {"pp=4", "schedule=gpipe"}},
                                 {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=1"}}};
  for (const OffloadedPlan& plan : testing::sampled(plans, 2))
    for (const char* precision : {"precision=bf16", "precision=fp16", "precision=bf16-nearest",
                                  "precision=bf16-sr", "precision=bf16-kahan", "precision=fp8"})
      EXPECT_EQ(expect_offload_changes_no_bit(testing::tiny_transformer({.layers = 8}), plan,
                                              {precision}, 1),
                3)
          << precision;
}

TEST(CpuOffload, ChangesNoBitByAnyOptimizer) {
  const OffloadedPlan plan = {4, {"pp=2", "dp=2", "schedule=gpipe", "zero=1"}};
  for (const char* rule :
       {"optimizer=sgd", "optimizer=momentum", "optimizer=lars", "optimizer=lamb"})
    EXPECT_EQ(
        expect_offload_changes_no_bit(testing::tiny_transformer({.layers = 8}), plan, {rule}, 0), 3)
        << rule;
}

// Tables that stages share, experts, outputs that a stage keeps, statistics of a batch.
TEST(CpuOffload, ChangesNoBitOfAnyModel) {
  const OffloadedPlan deep = {4, {"pp=4", "schedule=gpipe"}},
                      experts = {4, {"pp=2", "dp=2", "ep=2", "schedule=gpipe"}},
                      divided = {4, {"pp=2", "tp=2", "schedule=gpipe", "zero=1", "seq=4"}},
                      chunks = {2, {"pp=2", "virtual-stages=2", "schedule=interleaved"}};
  const Model routed = testing::tiny_transformer({.layers = 8, .family = "llama", .experts = 4});
  EXPECT_EQ(expect_offload_changes_no_bit(routed, experts, {}, 0), 3);
  const Model llama = testing::tiny_transformer({.layers = 8, .family = "llama"});
  EXPECT_EQ(expect_offload_changes_no_bit(llama, divided, {}, 1), 3);
  const Model tied = testing::tiny_transformer({.layers = 8, .tied = true});
  const Model both_ends = testing::tiny_encoder_decoder("transformer", 4);
  for (const Model& model :
       {tied, testing::tiny_mlp(8), testing::tiny_convnet(8), both_ends, testing::tiny_encoder(8)})
    EXPECT_EQ(expect_offload_changes_no_bit(model, deep, {}, 1), 3);
  EXPECT_EQ(expect_offload_changes_no_bit(testing::tiny_mlp(8), chunks, {}, 0), 3);
}

TEST(CpuOffload, ChangesNoBitByTheWallClock) {
  for (std::string_view host : kHosts) {
    const Settings settings = {"pp=4", "schedule=gpipe", "global-batch=16", "micro-batch=1", host};
    const Model model = testing::tiny_transformer({.layers = 8});
    const Training training = of_steps_and_clip(3, 1);
    const CpuRun here = testing::train_on_cpu(model, 4, settings, training);
    for (const int threads : {1, 3}) {
      CpuOptions wall;
      wall.mode = RunMode::WallClock;
      wall.threads = threads;
      expect_same_bits(testing::train_on_cpu(model, 4, settings, training, wall), here);
    }
  }
}

TEST(CpuOffload, TakesTheTimeAndTheMemoryOfTheSimulator) {
  for (const OffloadedPlan& plan : testing::non_empty(testing::sampled(kOffloadedPlans, 5)))
    for (std::string_view host : kHosts)
      for (const double rate : {18.5e9, 1e8}) {
        const Settings settings =
            with_words(plan.settings, {"global-batch=16", "micro-batch=1", "precision=fp32", host});
        Scenario s = testing::scenario(testing::tiny_transformer({.layers = 8}), plan.devices,
                                       settings, "cpu");
        s.cluster.device.host_link.value = {rate};
        if (has_errors(check(s))) continue;
        SCOPED_TRACE(offload_words(s.model, settings) + " at " + std::to_string(rate));
        const TimedRun timed(s);
        // Ranks that divide a sequence exchange keys beside kernels of other lengths than these,
        // and sum partial gradients before updates, of which programs say nothing.
        const bool divided =
            std::find(plan.settings.begin(), plan.settings.end(), "seq=4") != plan.settings.end();
        EXPECT_TRUE(divided || timed.run.timeline.spans == timed.predicted.spans);
        for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(timed.program.devices); ++d) {
          const double told = static_cast<double>(
              peak_of(memory_wave(timed.predicted, timed.program, DeviceId{d})).value);
          EXPECT_NEAR(static_cast<double>(peak_of(timed.run.waves[d]).value), told, 0.02 * told)
              << "device " << d;
        }
      }
}

// The host of the fullest device holds what the plan says, to the byte; where a microbatch comes
// back early, before another leaves, it holds one fewer.
TEST(CpuOffload, TheHostHoldsWhatThePlanSays) {
  for (const OffloadedPlan& plan : testing::non_empty(testing::sampled(kOffloadedPlans, 5)))
    for (std::string_view host : kHosts)
      for (std::string_view precision : {"precision=fp32", "precision=bf16"}) {
        const Settings settings =
            with_words(plan.settings, {"global-batch=16", "micro-batch=1", precision, host});
        const Model model = testing::tiny_transformer({.layers = 8});
        if (has_errors(check(testing::scenario(model, plan.devices, settings, "cpu")))) continue;
        SCOPED_TRACE(offload_words(model, settings));
        const CpuRun run =
            testing::train_on_cpu(model, plan.devices, settings, of_steps_and_clip(2, 0));
        Bytes most{};
        for (const DeviceMemory& m : run.run.memory) most = std::max(most, m.host);
        const Bytes told = host_memory(run.workload)->device;
        const bool early = setting(run.workload.scenario.plan, "schedule") == "1f1b";
        EXPECT_LE(most, told);
        EXPECT_GE(most.value, early ? told.value * 3 / 4 : told.value);
      }
}

// A chain of sixteen equal layers, one on each device.
Scenario chain_of_sixteen(std::string_view offload, double host_link) {
  Scenario s = testing::scenario(build_mlp({"chain", 64, 64, 16, 64}), 16,
                                 {"pp=16", "schedule=1f1b", "global-batch=16384", "micro-batch=256",
                                  "precision=fp32", "optimizer=sgd", offload},
                                 "cpu");
  s.cluster.device.host_link.value = {host_link};
  return s;
}

// These are the bytes that a stage in the middle moves for one microbatch, and its work.
struct ChainStage {
  explicit ChainStage(const TimedRun& run) {
    for (std::uint32_t i = 0; i < run.program.instructions.size(); ++i) {
      const Instruction& in = run.program.instructions[i];
      const Task& task = run.program.task(in);
      if (task.stage.value != 7) continue;
      const bool down = task.kind == TaskKind::HostCopy && task.phase == Phase::Forward;
      if (down) bytes = static_cast<double>(task.bytes.value), moved += 1;
      if (task.kind == TaskKind::Compute && task.phase != Phase::Update && in.microbatch == 0)
        computes += to_seconds(run.prices.time[in.task.value]);
    }
  }
  double bytes = 0, moved = 0, computes = 0;
};

// A link that carries what a layer keeps while the layer computes: half of the peak is free.
TEST(CpuOffload, HalvesThePeakOfSixteenLayersInTheirTime) {
  const TimedRun here(chain_of_sixteen("offload=none", 18.5e9));
  const ChainStage stage(TimedRun(chain_of_sixteen("offload=activations", 18.5e9), 1));
  ASSERT_GT(stage.moved, 32);  // of 64 microbatches
  const double enough =
      stage.bytes / stage.computes / host_of(make_cluster(device("cpu"), 1)).link_share;
  const TimedRun there(chain_of_sixteen("offload=activations", enough));
  EXPECT_LE(2 * there.peak().value, here.peak().value);
  EXPECT_LE(to_seconds(there.step()), 1.1 * to_seconds(here.step()));
  EXPECT_EQ(there.run.losses, here.run.losses);
}

// A slower link takes its time, which is the predicted one, and bounds memory all the same.
TEST(CpuOffload, ASlowLinkCostsWhatIsPredicted) {
  const TimedRun here(chain_of_sixteen("offload=none", 18.5e9));
  const ChainStage stage(TimedRun(chain_of_sixteen("offload=activations", 18.5e9), 1));
  for (const double share : {0.5, 0.1}) {
    const double rate = share * stage.bytes / stage.computes;
    const TimedRun there(chain_of_sixteen(
        "offload=activations", rate / host_of(make_cluster(device("cpu"), 1)).link_share));
    EXPECT_LE(2 * there.peak().value, here.peak().value) << share;
    EXPECT_EQ(there.step(), makespan(there.predicted)) << share;
    EXPECT_GE(to_seconds(there.step()), 0.999 * stage.moved * stage.bytes / rate) << share;
    EXPECT_EQ(there.run.losses, here.run.losses) << share;
  }
}

// The next stage of the same device would read what a stage keeps after the host has it.
TEST(CpuOffload, AKeptOutputThatADeviceHandsToItselfIsRefused) {
  const auto refusal = [](const Model& model) {
    const Workload w =
        prepare(testing::scenario(model, 1,
                                  {"virtual-stages=2", "schedule=gpipe", "global-batch=16",
                                   "micro-batch=1", "precision=fp32", "offload=activations"},
                                  "cpu"));
    const Program p = lower(w, {.grain = Grain::Op});
    const Training training;
    const Diagnostics found = CpuBackend::check({w, p, TaskPrices{}, &training});
    return has_errors(found) ? found.back().message + "; try " + found.back().fix : "";
  };
  EXPECT_EQ(refusal(testing::tiny_mlp(8)),
            "a local run moves activations that no other stage of the device reads, found that the "
            "stage after layer 4 reads fc.relu, which that layer keeps; try virtual-stages=1");
  EXPECT_EQ(refusal(testing::tiny_transformer({.layers = 8})), "");
}

}  // namespace
}  // namespace trainyard
