// Tests that pipeline stages whose layers are all frozen run forwards alone, under every schedule
// that updates once a step: nothing is sent back to them, they keep nothing, the closed form and
// the simulator take equally long, and the run trains as one device does.
#include <gtest/gtest.h>

#include <map>

#include "core/estimate/estimate.h"
#include "core/program/facts.h"
#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/synchronous.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

struct ForwardOnlyCase {
  std::string name;
  std::int64_t devices;
  Settings settings;
};

// Every schedule that a plan with frozen parts accepts, on two and four devices.
std::vector<ForwardOnlyCase> forward_only_cases() {
  std::vector<ForwardOnlyCase> cases;
  for (const Method& m : methods()) {
    if (!testing::synchronous(m) || m.settles) continue;
    for (const char* pp : {"pp=2", "pp=4"}) {
      Settings settings = {pp};
      static std::map<std::string, std::string> words;
      const auto [word, is_new] =
          words.try_emplace(std::string(m.name), "schedule=" + std::string(m.name));
      settings.emplace_back(word->second);
      if (m.name == "interleaved" || m.placement == Placement::V)
        settings.emplace_back("virtual-stages=2");
      cases.push_back({word->second + " " + pp, pp[3] == '2' ? 2 : 4, settings});
    }
  }
  return cases;
}

Model eight_layers() { return testing::tiny_transformer({.layers = 8, .family = "llama"}); }

Settings joined(Settings list, const Settings& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

const Settings kHeadAlone = {"global-batch=16", "micro-batch=2", "frozen=all-but-head"};

TEST(ForwardOnly, NothingIsSentBackToThem) {
  for (const ForwardOnlyCase& c : testing::non_empty(forward_only_cases())) {
    SCOPED_TRACE(c.name);
    const Workload w =
        prepare(testing::scenario(eight_layers(), c.devices, joined(kHeadAlone, c.settings)));
    const auto last = static_cast<std::uint32_t>(w.table.size() - 1);
    EXPECT_EQ(schedule_shape(w).forward_only, static_cast<int>(last));
    for (const Grain grain : {Grain::Order, Grain::Op}) {
      LowerOptions options;
      options.grain = grain;
      options.steps = 2;
      const Program p = lower(w, options);
      EXPECT_TRUE(verify(p).empty());
      std::map<std::uint32_t, int> forwards, backwards;
      for (const Instruction& in : p.instructions) {
        const Task& task = p.task(in);
        if (task.kind == TaskKind::Send) {
          EXPECT_EQ(task.phase, Phase::Forward);
        }
        if (task.kind != TaskKind::Compute || task.phase == Phase::Update) continue;
        ++(task.phase == Phase::Forward ? forwards : backwards)[task.stage.value];
      }
      EXPECT_EQ(forwards.size(), last + 1);
      EXPECT_EQ(backwards.size(), 1u);
      EXPECT_GT(backwards[last], 0);
      for (const Buffer& b : p.buffers)
        if (b.stage.value < last && b.category == Category::Activations) {
          EXPECT_EQ(b.bytes.value, 0) << p.names[b.name];
        }
    }
  }
}

// The closed form follows the same order. Memory is compared for random scenarios, some of which
// have such stages (fidelity_test.cpp).
TEST(ForwardOnly, ClosedFormAndSimulatorAgree) {
  for (const ForwardOnlyCase& c : testing::non_empty(forward_only_cases())) {
    SCOPED_TRACE(c.name);
    const Scenario s = testing::scenario(eight_layers(), c.devices, joined(kHeadAlone, c.settings));
    const Workload w = prepare(s);
    const auto cost = roofline_cost_model();
    const Result formula = estimate(w, *cost);
    LowerOptions options;
    options.times = phase_times(w, *cost);
    const Program p = lower(w, options);
    const Timeline run = simulate(p, price(p, w.scenario.plan.mesh, s.cluster, *cost));
    const double simulated = to_seconds(makespan(run));
    EXPECT_NEAR(to_seconds(formula.step.value), simulated, 0.02 * simulated);
  }
}

TEST(ForwardOnly, TrainAsOneDevice) {
  Training t;
  t.rate = 0.05, t.momentum = 0.5, t.steps = 3;
  const Settings rule = {"optimizer=momentum"};
  const CpuRun alone = testing::train_on_cpu(eight_layers(), 1, joined(kHeadAlone, rule), t);
  for (const ForwardOnlyCase& c : testing::non_empty(forward_only_cases())) {
    SCOPED_TRACE(c.name);
    const CpuRun run = testing::train_on_cpu(eight_layers(), c.devices,
                                             joined(joined(kHeadAlone, rule), c.settings), t);
    testing::expect_same_training(run, alone, 1e-6);
  }
}

// These are other things that a plan may do to a stage that runs forwards alone.
TEST(ForwardOnly, TrainAsOneDeviceBesideOtherMethods) {
  Training t;
  t.rate = 0.05, t.momentum = 0.5, t.steps = 2;
  const Settings rule = {"optimizer=momentum", "seq=4"};
  const CpuRun alone = testing::train_on_cpu(eight_layers(), 1, joined(kHeadAlone, rule), t);
  const std::vector<std::pair<std::int64_t, Settings>> plans = {
      {4, {"pp=2", "zero=1"}},
      {4, {"pp=2", "zero=3"}},
      {4, {"pp=2", "zero=3", "recompute=full"}},
      {4, {"pp=2", "tp=2"}},
      {4, {"pp=2", "cp=2"}},
      {2, {"pp=2", "offload=optimizer"}},
      {2, {"pp=2", "offload=activations"}},
      {2, {"pp=2", "offload=both", "recompute=full"}},
      {2, {"pp=2", "schedule=zb-h1", "recompute=full"}},
  };
  for (const auto& [devices, plan] : testing::non_empty(plans)) {
    std::string words;
    for (std::string_view word : plan) words += " " + std::string(word);
    SCOPED_TRACE(words);
    const CpuRun run =
        testing::train_on_cpu(eight_layers(), devices, joined(joined(kHeadAlone, rule), plan), t);
    testing::expect_same_training(run, alone, 1e-6);
  }
}

// A frozen vision tower on stages of its own.
TEST(ForwardOnly, AVisionTowerOfItsOwnStageTrainsAsOneDevice) {
  Training t;
  t.rate = 0.02, t.momentum = 0.5, t.steps = 2;
  Model decoder = testing::tiny_transformer({.family = "llama"});
  decoder.sequence = 8;
  const Model model = testing::tiny_vision("siglip", 1, 4, std::move(decoder));
  const Settings frozen = {"global-batch=4", "micro-batch=1", "optimizer=momentum",
                           "frozen=vision"};
  const CpuRun alone = testing::train_on_cpu(model, 1, frozen, t);
  int ran = 0;
  for (const char* schedule : {"schedule=1f1b", "schedule=gpipe", "schedule=zb-h1"}) {
    const Scenario s = testing::scenario(
        model, 2, joined(frozen, {"precision=fp32", "pp=2", "split=1,5", schedule}), "cpu");
    const CpuRun run = testing::train_on_cpu(s, t);
    ran += schedule_shape(run.workload).forward_only;
    testing::expect_same_training(run, alone, 3e-5);
  }
  EXPECT_GT(ran, 0) << "no stage had the tower alone";
}

}  // namespace
}  // namespace trainyard
