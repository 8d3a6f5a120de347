// The CPU backend trains routed experts as the reference does, and the same however a plan divides
// the work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "backends/reference/reference_machine.h"
#include "core/base/error.h"
#include "core/timeline/metrics.h"
#include "tests/support/cases.h"
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

struct Divided {
  std::int64_t devices;
  Settings settings;
};

std::string name_of(const Divided& d) {
  std::string name;
  for (std::string_view one : d.settings) name += std::string(one) + " ";
  return name;
}

CpuRun train_divided(const Model& model, const Divided& d, const Training& training,
                     CpuOptions options = {}) {
  Settings settings = {"global-batch=8", "micro-batch=1", "seq=4"};
  settings.insert(settings.end(), d.settings.begin(), d.settings.end());
  return train_on_cpu(model, d.devices, settings, training, options);
}

const Divided kUndividedExperts[] = {
    {1, {"recompute=full"}},
    {2, {"dp=2"}},
    {2, {"pp=2", "schedule=zb-h1"}},
    {4, {"pp=2", "dp=2", "recompute=full"}},
    {2, {"pp=2", "schedule=zb-v", "virtual-stages=2"}},
    {2, {"tp=2", "sequence-parallel=off"}},
    {2, {"tp=2", "sequence-parallel=on"}},
    {4, {"tp=2", "dp=2", "recompute=full"}},
    {2, {"tp=2", "etp=1"}},
    {4, {"dp=4", "zero=1"}},
    {4, {"dp=2", "pp=2", "zero=2"}},
    {4, {"dp=4", "zero=3"}},
    {4, {"dp=4", "zero=3", "hybrid=2"}},
    {4, {"dp=2", "tp=2", "zero=3", "zero-reduce=step"}},
};
const Divided kDividedExperts[] = {
    {2, {"ep=2"}},
    {4, {"ep=2", "dp=4"}},
    {4, {"ep=2", "dp=4", "rank-order=tp-cp-dp-ep-pp"}},
    {4, {"ep=4", "dp=4", "recompute=full"}},
    {4, {"ep=2", "pp=2", "schedule=zb-h1"}},
    {4, {"ep=2", "pp=2", "recompute=full"}},
    {2, {"ep=2", "tp=2", "etp=1"}},
    {4, {"ep=2", "tp=2", "etp=1", "dp=2"}},
    {4, {"ep=4", "tp=2", "etp=1", "dp=2", "recompute=full"}},
    {4, {"ep=2", "tp=2", "etp=1", "pp=2"}},
    {4, {"ep=2", "tp=2", "etp=1", "dp=2", "rank-order=tp-cp-dp-ep-pp"}},
    {4, {"ep=2", "tp=2", "dp=2"}},
    {4, {"ep=2", "tp=2", "dp=2", "sequence-parallel=off"}},
    {4, {"ep=2", "tp=2", "dp=2", "recompute=full"}},
    {4, {"ep=2", "tp=2", "dp=2", "recompute=selective", "zero=3"}},
    // State divided over the replicas of experts, which are others than those of the rest.
    {4, {"ep=2", "dp=4", "zero=1"}},
    {4, {"ep=2", "dp=4", "zero=2"}},
    {4, {"ep=2", "dp=4", "zero=3"}},
    {4, {"ep=4", "dp=4", "zero=3"}},  // experts have no replicas
    {4, {"ep=2", "dp=4", "zero=3", "reshard-after-forward=off"}},
    {4, {"ep=2", "dp=4", "zero=3", "rank-order=tp-cp-dp-ep-pp"}},
    {4, {"ep=2", "dp=4", "zero=2", "hybrid=2"}},
    {4, {"ep=2", "dp=2", "pp=2", "zero=1", "schedule=zb-h1"}},
    {4, {"ep=2", "tp=2", "etp=1", "dp=2", "zero=3"}},
    {4, {"ep=2", "dp=2", "cp=2", "zero=2"}},
};

std::vector<Divided> every_division() {
  std::vector<Divided> all(std::begin(kUndividedExperts), std::end(kUndividedExperts));
  all.insert(all.end(), std::begin(kDividedExperts), std::end(kDividedExperts));
  return all;
}

TEST(CpuExperts, TrainAsOneDevice) {
  const Model model = routed_model(1);
  for (const bool clips : {true, false})
    for (const char* optimizer : {"optimizer=lamb", "optimizer=momentum"}) {
      if (testing::sanitized() && (!clips || optimizer != std::string_view("optimizer=lamb")))
        continue;
      Training training = training_of_experts();
      training.clip = clips ? 0.05 : 0;
      training.epsilon = 0.01;  // a gradient that is 0 except for rounding has no effect
      const CpuRun alone = train_divided(model, {1, {optimizer}}, training);
      for (Divided d : testing::sampled(every_division(), 3)) {
        SCOPED_TRACE(name_of(d) + optimizer + (clips ? " clipped" : ""));
        d.settings.push_back(optimizer);
        const CpuRun divided = train_divided(model, d, training);
        expect_same_losses(divided.run.losses, alone.run.losses);
        expect_same_parameters(divided, alone);
        if (!clips) continue;  // nobody asked for the norm
        EXPECT_NEAR(divided.run.gradient_norm, alone.run.gradient_norm,
                    1e-3 * alone.run.gradient_norm);
      }
    }
}

// Each expert has an adapter of its own, which is where its expert is.
TEST(CpuExperts, AdaptersOfExpertsTrainAsOnOneDevice) {
  const Model model = routed_model(1);
  Training training = training_of_experts();
  training.epsilon = 0.01;
  const auto with_adapters = [](Divided d) {
    d.settings.insert(d.settings.end(),
                      {"optimizer=momentum", "lora=2", "lora.targets=experts,attention"});
    return d;
  };
  const CpuRun alone = train_divided(model, with_adapters({1, {}}), training);
  int moved = 0;
  for (std::size_t t = 0; t < alone.parameters.size(); ++t) {
    const bool adapts = alone.parameters[t].name.find(".lora_") != std::string::npos;
    EXPECT_EQ(alone.initial[t].values != alone.parameters[t].values, adapts)
        << alone.parameters[t].name;
    moved += alone.parameters[t].name.starts_with("experts.") && adapts ? 1 : 0;
  }
  EXPECT_EQ(moved, 4 * 3 * 2);  // of four layers: three products, A and B
  int refused = 0;
  for (const Divided& d : testing::sampled(every_division(), 3)) {
    SCOPED_TRACE(name_of(d));
    const std::string words = name_of(d);
    const auto has = [&](const char* word) { return words.find(word) != std::string::npos; };
    if (has("tp=2 ") && !has("etp=1") && !has("sequence-parallel=off")) {
      EXPECT_THROW(train_divided(model, with_adapters(d), training), Error);
      ++refused;
      continue;
    }
    const CpuRun divided = train_divided(model, with_adapters(d), training);
    expect_same_losses(divided.run.losses, alone.run.losses);
    expect_same_parameters(divided, alone);
  }
  EXPECT_EQ(refused, testing::sanitized() ? 2 : 6);
}

// Copies are exchanged while all ranks wait, so who drives makes no difference, bit for bit.
TEST(CpuExperts, TrainTheSameHoweverTheyAreDriven) {
  for (const Divided& d : testing::non_empty(testing::sampled(kDividedExperts, 2))) {
    SCOPED_TRACE(name_of(d));
    CpuOptions wall;
    wall.mode = RunMode::WallClock;
    const CpuRun a = train_divided(routed_model(), d, training_of_experts()),
                 b = train_divided(routed_model(), d, training_of_experts(), wall);
    EXPECT_EQ(a.run.losses, b.run.losses);
    for (std::size_t t = 0; t < a.parameters.size(); ++t)
      EXPECT_EQ(a.parameters[t].values, b.parameters[t].values) << a.parameters[t].name;
  }
}

// The measured peak of each device over what is planned of its pipeline rank.
std::vector<double> peaks_over_plan(const CpuRun& t) {
  std::vector<double> found;
  for (const DeviceMemory& m : t.run.memory) {
    const MemoryWave planned = memory_wave(t.run.timeline, t.program, m.device);
    found.push_back(static_cast<double>(m.most.value) /
                    static_cast<double>(total(planned.samples[planned.peak].bytes).value));
  }
  return found;
}

// Where every token goes to every expert, all ranks have as many copies as is planned.
TEST(CpuExperts, RanksOfEqualLoadsHoldWhatIsPlanned) {
  const Model model = tiny_transformer({.family = "mixtral", .experts = 4, .top_k = 4});
  for (const Divided& d : testing::sampled(every_division(), 3)) {
    SCOPED_TRACE(name_of(d));
    const CpuRun t = train_divided(model, d, training_of_experts());
    for (double peak : peaks_over_plan(t)) EXPECT_NEAR(peak, 1, 0.02);
    for (const DeviceMemory& m : t.run.memory)
      EXPECT_EQ(m.load, t.workload.layout.binding.ep > 1 ? 1 : 0);
  }
}

// Loads are planned to be equal: a rank to whose experts more copies come holds more.
TEST(CpuExperts, RanksOfUnequalLoadsHoldAllThatComes) {
  for (const Divided& d : testing::non_empty(testing::sampled(kDividedExperts, 2))) {
    SCOPED_TRACE(name_of(d));
    const CpuRun t = train_divided(routed_model(), d, training_of_experts());
    const std::vector<double> peaks = peaks_over_plan(t);
    EXPECT_GE(*std::min_element(peaks.begin(), peaks.end()), 0.98);
    EXPECT_GT(*std::max_element(peaks.begin(), peaks.end()), 1.02);
    double load = 0;
    for (const DeviceMemory& m : t.run.memory) load = std::max(load, m.load);
    EXPECT_GT(load, 1);
    EXPECT_LE(load, t.workload.layout.binding.ep);
  }
}

// An expert has places for some of the tokens of every microbatch, and takes the first ones: ranks
// that each have whole microbatches drop what one device drops.
TEST(CpuExperts, OfACapacityDropWhatOneDeviceDrops) {
  const Model model = routed_model(1);
  const auto all = train_divided(model, {1, {"optimizer=momentum"}}, training_of_experts());
  for (const char* capacity : {"expert-parallel.capacity=0.5", "expert-parallel.capacity=1",
                               "expert-parallel.capacity=4"}) {
    SCOPED_TRACE(capacity);
    const CpuRun alone =
        train_divided(model, {1, {capacity, "optimizer=momentum"}}, training_of_experts());
    const bool has_room_for_all = capacity == std::string("expert-parallel.capacity=4");
    EXPECT_EQ(alone.run.losses == all.run.losses, has_room_for_all);
    EXPECT_EQ(alone.run.memory[0].dropped == 0, has_room_for_all);
    for (Divided d : std::vector<Divided>{{2, {"ep=2"}},
                                          {4, {"ep=4", "dp=4"}},
                                          {4, {"ep=2", "dp=4", "zero=3"}},
                                          {4, {"ep=2", "pp=2", "recompute=full"}},
                                          {4, {"ep=2", "tp=2", "dp=2", "sequence-parallel=off"}}}) {
      SCOPED_TRACE(name_of(d));
      d.settings.insert(d.settings.end(), {capacity, "optimizer=momentum"});
      const CpuRun t = train_divided(model, d, training_of_experts());
      expect_same_losses(t.run.losses, alone.run.losses);
      expect_same_parameters(t, alone);
      double dropped = 0;
      for (const DeviceMemory& m : t.run.memory)
        dropped += m.dropped / static_cast<double>(t.run.memory.size());
      EXPECT_NEAR(dropped, alone.run.memory[0].dropped, 1e-12);
    }
  }
}

// The loss of one step of sgd from these parameters (empty: the initial ones), and those after it.
std::pair<double, std::vector<TrainedTensor>> one_step(const Model& model, double rate,
                                                       const std::vector<TrainedTensor>& from) {
  Training training;
  training.rate = rate;
  training.steps = 1;
  const Workload w =
      prepare(testing::scenario(model, 1,
                                {"precision=fp32", "optimizer=sgd", "global-batch=2",
                                 "micro-batch=2", "seq=4", "expert-parallel.capacity=0.75"},
                                "cpu"));
  const Program p = lower(w, {.grain = Grain::Op, .steps = 1});
  const testing::SampleNumbers data;
  CpuOptions options;
  options.mode = RunMode::WallClock;
  const TaskPrices prices;
  CpuBackend backend({w, p, prices, &training, &data}, options);
  if (!from.empty()) backend.set_parameters(from);
  const double loss = backend.run().losses.at(0);
  return {loss, backend.parameters()};
}

// What is dropped has no gradient: along the gradient that an update takes, the loss changes as
// fast as that gradient is long.
TEST(CpuExperts, OfACapacityHaveTheGradientOfTheirLoss) {
  const Model model = routed_model();
  constexpr double kRate = 1, kStep = 1e-3;
  const std::vector<TrainedTensor> begin = one_step(model, 0, {}).second,
                                   after = one_step(model, kRate, begin).second;
  double square = 0;
  for (std::size_t t = 0; t < begin.size(); ++t)
    for (std::size_t e = 0; e < begin[t].values.size(); ++e)
      square += std::pow(static_cast<double>(begin[t].values[e] - after[t].values[e]) / kRate, 2);
  const double length = std::sqrt(square);
  const auto loss_at = [&](double along) {
    std::vector<TrainedTensor> moved = begin;
    for (std::size_t t = 0; t < begin.size(); ++t)
      for (std::size_t e = 0; e < begin[t].values.size(); ++e)
        moved[t].values[e] += static_cast<float>(
            along / length * static_cast<double>(begin[t].values[e] - after[t].values[e]) / kRate);
    return one_step(model, 0, moved).first;
  };
  EXPECT_NEAR((loss_at(kStep) - loss_at(-kStep)) / (2 * kStep), length, 0.01 * length);
}

TEST(CpuExperts, WhatIsNotExecutedIsRefused) {
  const std::pair<Settings, const char*> cases[] = {
      {{"dp=4", "ep=2", "expert-parallel.imbalance=1.5"}, "has the loads that its router gives"},
  };
  for (const auto& [settings, sentence] : cases) {
    try {
      train_divided(routed_model(), {4, settings}, training_of_experts());
      ADD_FAILURE() << sentence;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(sentence), std::string::npos) << error.what();
    }
  }
}

TEST(CpuExperts, ASecondRouterOfALayerIsRefused) {
  Model model = routed_model();
  for (Block& block : model.blocks)
    for (std::size_t n = 0; n < block.graph.nodes.size(); ++n)
      if (const Node node = block.graph.nodes[n]; node.op->name == "router") {
        block.graph.add("router 2", *node.op, node.inputs, node.attributes);
        break;
      }
  try {
    train_divided(model, {1, {}}, training_of_experts());
    ADD_FAILURE() << "it was executed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("layers of one router"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace trainyard
