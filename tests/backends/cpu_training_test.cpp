// The CPU backend trains as the reference does, and the same however a plan divides the work.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "backends/reference/reference_machine.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/synchronous.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::adds_in_order;
using testing::CpuRun;
using testing::Settings;
using testing::synchronous;
using testing::tiny_convnet;
using testing::tiny_mlp;
using testing::tiny_transformer;
using testing::train_on_cpu;
using testing::with;

Training momentum(std::int64_t steps) {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = steps;
  t.epsilon = 0.01;  // a gradient that is 0 except for rounding has no effect
  return t;
}

void expect_close(const std::vector<double>& a, const std::vector<double>& b, double relative) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], relative * std::abs(b[i]) + 1e-9) << i;
}

// The largest difference of any two parameters, relative to the largest parameter.
double difference(const std::vector<TrainedTensor>& a, const std::vector<TrainedTensor>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0, most = 0;
  for (std::size_t t = 0; t < std::min(a.size(), b.size()); ++t) {
    EXPECT_EQ(a[t].name, b[t].name);
    EXPECT_EQ(a[t].values.size(), b[t].values.size()) << a[t].name;
    for (std::size_t e = 0; e < std::min(a[t].values.size(), b[t].values.size()); ++e) {
      worst = std::max(worst, std::abs(double{a[t].values[e]} - b[t].values[e]));
      most = std::max(most, std::abs(double{b[t].values[e]}));
    }
  }
  return worst / most;
}

TEST(CpuTraining, AgreesWithTheReference) {
  for (const Model& model :
       {tiny_mlp(3), tiny_convnet(2), tiny_transformer(), tiny_transformer({.tied = true}),
        tiny_transformer({.family = "llama"})}) {
    SCOPED_TRACE(model.name);
    Training training = momentum(3);
    const Settings settings = {"global-batch=4", "micro-batch=2", "optimizer=momentum"};
    const CpuRun fast = train_on_cpu(model, 1, settings, training);
    LowerOptions lowering;
    lowering.grain = Grain::Op;
    lowering.steps = 3;
    const Program program = lower(fast.workload, lowering);
    ReferenceOptions options;
    options.rules[0].rate = training.rate;
    options.rules[0].momentum = training.momentum;
    testing::start_as(fast, options);
    const ReferenceRun exact = ReferenceMachine(fast.workload, program).run(options);
    expect_close(fast.run.losses, exact.step_losses, 1e-5);
    std::vector<TrainedTensor> wanted;
    for (const ReferenceParameter& p : exact.parameters) {
      std::vector<float> values(p.weights.values.begin(), p.weights.values.end());
      wanted.push_back({p.layer, p.name, p.weights.shape, std::move(values)});
    }
    EXPECT_LT(difference(fast.parameters, wanted), 1e-5);
  }
}

// The first of a few shapes that is legal for the schedule.
std::optional<std::pair<std::int64_t, Settings>> legal_shape(const Model& model,
                                                             std::string_view schedule) {
  static std::vector<std::string> kept;  // settings are views
  for (const char* stages : {"1", "2"})
    for (const char* devices : {"4", "2"})
      for (const char* batch : {"8", "4"}) {
        kept = {"schedule=" + std::string(schedule), "pp=" + std::string(devices),
                "virtual-stages=" + std::string(stages), "global-batch=" + std::string(batch),
                "micro-batch=1"};
        Settings settings(kept.begin(), kept.end());
        if (!has_errors(check(testing::scenario(model, devices[0] - '0', settings, "cpu"))))
          return std::pair{std::int64_t{devices[0] - '0'}, settings};
      }
  return std::nullopt;
}

TEST(CpuTraining, EverySynchronousScheduleTrainsAsOneDevice) {
  int schedules = 0, bit_for_bit = 0;
  std::vector<Model> models = {tiny_transformer({.layers = 8}), tiny_mlp(8), tiny_convnet(8)};
  models.resize(testing::cases(models.size(), 1));
  for (const Method& method : testing::non_empty(methods())) {
    if (!synchronous(method)) continue;
    ++schedules;
    for (const Model& model : models) {
      SCOPED_TRACE(std::string(method.name) + ", " + model.name);
      const auto shape = legal_shape(model, method.name);
      ASSERT_TRUE(shape.has_value()) << "no shape of the list is legal";
      const Settings settings = with(shape->second, {"optimizer=momentum"});
      const CpuRun t = train_on_cpu(model, shape->first, settings, momentum(3));
      const CpuRun alone = train_on_cpu(
          model, 1, {"schedule=1f1b", shape->second[3], "micro-batch=1", "optimizer=momentum"},
          momentum(3));
      expect_close(t.run.losses, alone.run.losses, 1e-6);
      EXPECT_LT(difference(t.parameters, alone.parameters), 1e-6);
      if (!adds_in_order(t.program)) continue;
      ++bit_for_bit;
      EXPECT_EQ(t.run.losses, alone.run.losses);
      EXPECT_EQ(difference(t.parameters, alone.parameters), 0);
    }
  }
  EXPECT_GE(schedules, 11);
  EXPECT_GE(bit_for_bit, 3 * static_cast<int>(models.size()));  // gpipe, 1f1b and interleaved, each
                                                                // model
}

// Changes of where data is kept, or of who sums it, change only the last bits.
TEST(CpuTraining, ReplicasShardingAndRecomputeTrainAsOneDevice) {
  struct Case {
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {
      {1, {"recompute=full"}},
      {1, {"recompute=selective", "flash-attention=off"}},
      {1, {"recompute=blocks=1"}},
      {2, {"pp=2", "recompute=full"}},
      {2, {"dp=2"}},
      {4, {"dp=2", "pp=2"}},
      {2, {"zero=1"}},
      {2, {"zero=2"}},
      {4, {"zero=3", "pp=2"}},
      {4, {"zero=3", "pp=2", "zero-reduce=step"}},
      {2, {"zero=3", "reshard-after-forward=off"}},
      {2, {"zero=3", "zero.gathered-layers=last:1"}},
      {4, {"zero=3", "zero.gathered-layers=0,2", "pp=2"}},
      {2, {"zero=3", "reshard-after-forward=off", "overlap=off", "recompute=full"}},
      {4, {"zero=3", "reshard-after-forward=off", "pp=2"}},
      {4, {"zero=3", "reshard-after-forward=off", "pp=2", "overlap=off", "zero-reduce=step"}},
      {4, {"zero=3", "reshard-after-forward=off", "hybrid=2"}},
      {8, {"zero=3", "reshard-after-forward=off", "hybrid=2", "pp=2", "schedule=dualpipe"}},
      {2, {"zero=2", "zero-reduce=step"}},
      {4, {"zero=3", "hybrid=2"}},
      {4, {"zero=1", "hybrid=2"}},
      {4, {"zero=2", "overlap=off", "recompute=full"}},
  };
  constexpr std::array<const char*, 3> kOptimizers = {"optimizer=lamb", "optimizer=momentum",
                                                      "optimizer=adamw"};
  for (const Model& model : {tiny_mlp(4), tiny_transformer({.tied = false})})
    for (const char* optimizer :
         std::span(kOptimizers).first(testing::cases(kOptimizers.size(), 1))) {
      const Settings base = {"global-batch=8", "micro-batch=1", optimizer};
      const CpuRun alone = train_on_cpu(model, 1, base, momentum(2));
      for (const Case& c : testing::non_empty(cases)) {
        std::string name = model.name + " " + optimizer;
        for (std::string_view one : c.settings) name += " " + std::string(one);
        SCOPED_TRACE(name);
        const CpuRun t = train_on_cpu(model, c.devices, with(base, c.settings), momentum(2));
        expect_close(t.run.losses, alone.run.losses, 1e-6);
        EXPECT_LT(difference(t.parameters, alone.parameters), 2e-5);
      }
    }
}

TEST(CpuTraining, TensorAndSequenceParallelTrainAsOneDevice) {
  for (const Model& model :
       {tiny_transformer({.family = "llama"}), tiny_transformer({.family = "llama", .tied = true}),
        tiny_transformer({.family = "gpt2"}), testing::tiny_encoder(4)}) {
    const bool tied = model.blocks.back().graph.tensors.end() !=
                      std::find_if(model.blocks.back().graph.tensors.begin(),
                                   model.blocks.back().graph.tensors.end(),
                                   [](const Tensor& t) { return !t.tied_to.empty(); });
    const Settings base = {"global-batch=4", "micro-batch=2", "optimizer=adamw", "seq=4"};
    const CpuRun alone = train_on_cpu(model, 1, base, momentum(2));
    for (const Settings& settings :
         {Settings{"tp=2", "sequence-parallel=off"}, Settings{"tp=2", "sequence-parallel=on"},
          Settings{"tp=2", "dp=2", "zero=1"}, Settings{"tp=2", "pp=2"}}) {
      std::string name = model.name + (tied ? " tied" : "");
      std::int64_t devices = 2;
      for (std::string_view one : settings) {
        name += " " + std::string(one);
        if (one == "dp=2" || one == "pp=2") devices *= 2;
      }
      SCOPED_TRACE(name);
      if (tied && settings.back() == "pp=2") continue;  // two copies of a table
      const CpuRun t = train_on_cpu(model, devices, with(base, settings), momentum(2));
      expect_close(t.run.losses, alone.run.losses, 2e-6);
      EXPECT_LT(difference(t.parameters, alone.parameters), 1e-4);
    }
  }
}

// Where norms come last, a layer's input goes into products and past them: its gradient has parts
// that tensor ranks sum, and one that each of them has whole.
TEST(CpuTraining, TensorRanksOfLayersThatEndInANormTrainAsOneDevice) {
  TransformerSpec spec = family_spec("bert");
  spec.name = "tiny bert";
  spec.layers = 3, spec.hidden = 4, spec.heads = 2, spec.ffn = 6, spec.vocab = 8, spec.sequence = 4;
  spec.dropout = spec.attention_dropout = false;
  const Model model = build_encoder(spec);
  const Settings base = {"global-batch=4", "micro-batch=2", "optimizer=momentum"};
  const CpuRun alone = train_on_cpu(model, 1, base, momentum(3));
  const CpuRun t =
      train_on_cpu(model, 2, with(base, {"tp=2", "sequence-parallel=off"}), momentum(3));
  expect_close(t.run.losses, alone.run.losses, 2e-6);
  EXPECT_LT(difference(t.parameters, alone.parameters), 1e-5);
}

// The first and the last stage hold the same table, and train it with the sum of their gradients.
TEST(CpuTraining, StagesThatShareATableTrainAsOneDevice) {
  const Model model = tiny_transformer({.tied = true});
  for (const char* clip : {"", "clip"})
    for (const Settings& settings :
         {Settings{"pp=2"}, Settings{"pp=4"}, Settings{"pp=2", "dp=2"}, Settings{"pp=2", "tp=2"},
          Settings{"pp=2", "schedule=zb-v", "virtual-stages=2"},
          Settings{"pp=2", "schedule=dualpipe"},
          Settings{"pp=2", "schedule=zb-h1", "recompute=full"}, Settings{"pp=2", "zero=1", "dp=2"},
          Settings{"pp=2", "zero=2", "dp=2"}, Settings{"pp=2", "zero=3", "dp=2"},
          Settings{"pp=2", "zero=3", "reshard-after-forward=off", "zero-reduce=step", "dp=2"},
          Settings{"pp=2", "zero=1", "schedule=dualpipe", "dp=2"},
          Settings{"pp=2", "zero=1", "dp=2", "tp=2"},
          Settings{"pp=2", "zero=2", "hybrid=2", "dp=4"},
          Settings{"virtual-stages=2", "schedule=interleaved"},
          Settings{"virtual-stages=2", "schedule=gpipe", "zero=3", "dp=2"}}) {
      std::string name = clip;
      std::int64_t devices = settings[0] == "virtual-stages=2" ? 1 : 2;
      for (std::string_view one : settings) {
        name += " " + std::string(one);
        if (one == "dp=2" || one == "tp=2" || one == "pp=4") devices *= 2;
        if (one == "dp=4") devices *= 4;
      }
      SCOPED_TRACE(name);
      Training training = momentum(3);
      training.rate = 0.05;
      if (*clip != 0) training.clip = 0.05;
      const Settings base = {"global-batch=8", "micro-batch=1", "optimizer=momentum",
                             "sequence-parallel=off"};
      const CpuRun alone = train_on_cpu(
          model, 1, {"global-batch=8", "micro-batch=1", "optimizer=momentum"}, training);
      const bool tensor = settings.back() == "tp=2";
      const CpuRun t = train_on_cpu(
          model, devices, with(tensor ? base : Settings(base.begin(), base.end() - 1), settings),
          training);
      expect_close(t.run.losses, alone.run.losses, 2e-6);
      std::vector<TrainedTensor> own = t.parameters;  // without the copy
      std::erase_if(own, [&](const TrainedTensor& p) {
        return std::none_of(
            alone.parameters.begin(), alone.parameters.end(),
            [&](const TrainedTensor& a) { return a.layer == p.layer && a.name == p.name; });
      });
      EXPECT_LT(difference(own, alone.parameters), 2e-5);
    }
}

}  // namespace
}  // namespace trainyard
