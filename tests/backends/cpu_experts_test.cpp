// The CPU backend trains routed experts as the reference does, and the same however a plan divides
// the work.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/reference/reference_machine.h"
#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_transformer;
using testing::train_on_cpu;

Training training_of_experts() {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = 3;
  return t;
}

Model routed_model(int shared = 0) {
  return tiny_transformer({.family = "mixtral", .experts = 4, .shared_experts = shared});
}

void expect_same_losses(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * std::abs(b[i])) << i;
}

void expect_same_parameters(const CpuRun& a, const CpuRun& b) {
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t t = 0; t < a.parameters.size(); ++t) {
    const TrainedTensor &x = a.parameters[t], &y = b.parameters[t];
    ASSERT_EQ(x.values.size(), y.values.size()) << x.name;
    for (std::size_t e = 0; e < x.values.size(); ++e)
      ASSERT_NEAR(x.values[e], y.values[e], 1e-4) << x.name << " of layer " << x.layer << ", " << e;
  }
}

TEST(CpuExperts, TrainAsTheReference) {
  for (const Model& model : {routed_model(), routed_model(2),
                             tiny_transformer({.family = "deepseek_v3", .experts = 3})}) {
    SCOPED_TRACE(model.name);
    const Training training = training_of_experts();
    const CpuRun fast =
        train_on_cpu(model, 1, {"global-batch=4", "micro-batch=2", "optimizer=momentum"}, training);
    LowerOptions lowering;
    lowering.grain = Grain::Op;
    lowering.steps = 3;
    const Program program = lower(fast.workload, lowering);
    ReferenceOptions options;
    options.rules[0].rate = training.rate;
    options.rules[0].momentum = training.momentum;
    testing::start_as(fast, options);
    const ReferenceRun exact = ReferenceMachine(fast.workload, program).run(options);
    expect_same_losses(fast.run.losses, exact.step_losses);
    CpuRun wanted;
    for (const ReferenceParameter& p : exact.parameters)
      wanted.parameters.push_back(
          {p.layer, p.name, p.weights.shape, {p.weights.values.begin(), p.weights.values.end()}});
    expect_same_parameters(fast, wanted);
  }
}

double most_held(const MemoryWave& wave) {
  return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
}

struct Divided {
  std::int64_t devices;
  Settings settings;
};

std::string name_of(const Divided& d) {
  std::string name;
  for (std::string_view one : d.settings) name += std::string(one) + " ";
  return name;
}

CpuRun train_routed(const Divided& d, const Training& training) {
  Settings settings = {"global-batch=8", "micro-batch=1", "seq=4"};
  settings.insert(settings.end(), d.settings.begin(), d.settings.end());
  return train_on_cpu(routed_model(1), d.devices, settings, training);
}

void expect_planned_memory(const CpuRun& t) {
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(t.program.devices); ++d) {
    const double planned = most_held(memory_wave(t.run.timeline, t.program, DeviceId{d}));
    EXPECT_NEAR(most_held(t.run.waves[d]), planned, 0.02 * planned) << "device " << d;
  }
}

const Divided kDivided[] = {
    {1, {"recompute=full"}},
    {2, {"dp=2"}},
    {2, {"pp=2", "schedule=zb-h1"}},
    {4, {"pp=2", "dp=2", "recompute=full"}},
    {2, {"pp=2", "schedule=zb-v", "virtual-stages=2"}},
    {2, {"tp=2", "sequence-parallel=off"}},
    {2, {"tp=2", "sequence-parallel=on"}},
    {4, {"tp=2", "dp=2", "recompute=full"}},
};

TEST(CpuExperts, TrainAsOneDevice) {
  for (const bool clips : {false, true})
    for (const char* optimizer : {"optimizer=momentum", "optimizer=lamb"}) {
      Training training = training_of_experts();
      training.clip = clips ? 0.05 : 0;
      training.epsilon = 0.01;  // a gradient that is 0 except for rounding has no effect
      const CpuRun alone = train_routed({1, {optimizer}}, training);
      for (Divided d : testing::non_empty(kDivided)) {
        SCOPED_TRACE(name_of(d) + optimizer + (clips ? " clipped" : ""));
        d.settings.push_back(optimizer);
        const CpuRun divided = train_routed(d, training);
        expect_same_losses(divided.run.losses, alone.run.losses);
        expect_same_parameters(divided, alone);
        expect_planned_memory(divided);
      }
    }
}

}  // namespace
}  // namespace trainyard
