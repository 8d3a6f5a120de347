// The reference executes programs: every synchronous schedule trains as one device does, and a
// program that reads what is not there is refused by name.
#include "backends/reference/reference_machine.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "core/program/facts.h"
#include "tests/support/cases.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/synchronous.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::adds_in_order;
using testing::scenario;
using testing::Settings;
using testing::synchronous;
using testing::tiny_convnet;
using testing::tiny_mlp;
using testing::tiny_transformer;

struct Trained {
  Workload workload;
  Program program;
  ReferenceRun run;
};

Trained train(const Model& model, std::int64_t devices, const Settings& settings, int steps = 3,
              const ReferenceOptions& options = {}) {
  Trained t;
  t.workload = prepare(scenario(model, devices, settings));
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  lowering.steps = steps;
  t.program = lower(t.workload, lowering);
  t.run = ReferenceMachine(t.workload, t.program).run(options);
  return t;
}

std::vector<double> all_weights(const ReferenceRun& run) {
  std::vector<double> all;
  for (const ReferenceParameter& p : run.parameters)
    all.insert(all.end(), p.weights.values.begin(), p.weights.values.end());
  return all;
}

void expect_close(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-6 * std::abs(b[i]) + 1e-12) << i;
}

ReferenceOptions momentum() {
  ReferenceOptions options;
  options.rules[0].rate = 0.1;
  options.rules[0].momentum = 0.5;
  return options;
}

TEST(ReferenceBackend, OneProductByHand) {
  Model model;
  model.name = "line";
  model.family = "mlp";
  GraphBuilder b;
  const TensorId x = b.graph.input = b.activation("x", {kBatch, whole(1)});
  const TensorId y = b.linear("w", x, whole(1), false, TensorSplit::None, {}, true);
  const TensorId target = b.activation("target", {kBatch, whole(1)});
  model.blocks.push_back(b.block("line", 1, true, b.node("loss", squared_error(), {y, target})));
  ReferenceOptions options;
  options.rules[0].rate = 0.25;
  options.data = [](const ReferenceInput& in) {
    HostTensor made = zeros(in.shape);
    made.values[0] = in.graph[in.tensor].name == "x" ? 2 : 5;
    return made;
  };
  options.weights = [](ReferenceParameter& p) { p.weights.values = {1}; };
  const Trained t = train(model, 1, {"global-batch=2", "micro-batch=1"}, 2, options);
  // w = 1: loss (2 - 5)^2 / 2, gradient 2 (2 - 5); w = 1 + 0.25 * 6 = 2.5: the target.
  EXPECT_EQ(t.run.losses, (std::vector<double>{4.5, 4.5, 0, 0}));
  EXPECT_EQ(t.run.step_losses, (std::vector<double>{4.5, 0}));
  EXPECT_EQ(all_weights(t.run), (std::vector<double>{2.5}));
  EXPECT_EQ(t.run.versions, (std::vector<int>{1}));
}

TEST(ReferenceBackend, LossFallsOnDataThatStayTheSame) {
  for (const Model& model : {tiny_mlp(2), tiny_convnet(2), tiny_transformer()}) {
    ReferenceOptions options = momentum();
    options.data = [](const ReferenceInput& in) {
      HostTensor made = zeros(in.shape);
      const bool index = in.graph[in.tensor].kind == TensorKind::Index;
      const Random random(in.tensor.value);
      for (std::size_t e = 0; e < made.values.size(); ++e)
        made.values[e] = index ? static_cast<double>(random.between(e, 0, 2)) : random.uniform(e);
      return made;
    };
    const Trained t = train(model, 1, {"global-batch=2", "micro-batch=2"}, 60, options);
    EXPECT_LT(t.run.step_losses.back(), 0.7 * t.run.step_losses.front()) << model.name;
  }
}

// The weights of the first copy of every stage, then of the second copy if there is one.
std::vector<std::vector<double>> weights_of_copies(const Trained& t) {
  const auto count = static_cast<std::size_t>(copies(t.program.placement));
  std::vector<std::vector<double>> list(count);
  std::map<std::pair<int, std::string>, std::size_t> seen;
  for (const ReferenceParameter& p : t.run.parameters) {
    std::vector<double>& all = list[seen[{p.layer, p.name}]++];
    all.insert(all.end(), p.weights.values.begin(), p.weights.values.end());
  }
  return list;
}

// The first of a few shapes that is legal for the schedule.
std::optional<Settings> legal_settings(const Model& model, std::string_view schedule) {
  for (const char* stages : {"1", "2"})
    for (const char* devices : {"4", "2"})
      for (const char* batch : {"8", "4"}) {
        static std::vector<std::string> kept;  // settings are views
        kept = {"schedule=" + std::string(schedule), "pp=" + std::string(devices),
                "virtual-stages=" + std::string(stages), "global-batch=" + std::string(batch),
                "micro-batch=1"};
        Settings settings(kept.begin(), kept.end());
        if (!has_errors(check(scenario(model, devices[0] - '0', settings)))) return settings;
      }
  return std::nullopt;
}

std::int64_t devices_of(const Settings& settings) {
  for (std::string_view one : settings)
    if (one.starts_with("pp=")) return one.back() - '0';
  return 1;
}

TEST(ReferenceBackend, EverySynchronousScheduleTrainsAsOneDevice) {
  int schedules = 0, bit_for_bit = 0;
  std::vector<Model> models = {tiny_transformer({.layers = 8}), tiny_mlp(8), tiny_convnet(8)};
  models.resize(testing::cases(models.size(), 1));
  for (const Method& method : testing::non_empty(methods())) {
    if (!synchronous(method)) continue;
    ++schedules;
    for (const Model& model : models) {
      SCOPED_TRACE(std::string(method.name) + ", " + model.name);
      const std::optional<Settings> settings = legal_settings(model, method.name);
      ASSERT_TRUE(settings.has_value()) << "no shape of the list is legal";
      const Trained t = train(model, devices_of(*settings), *settings, 3, momentum());
      Settings one = {"schedule=1f1b", (*settings)[3], "micro-batch=1"};
      const Trained alone = train(model, 1, one, 3, momentum());
      expect_close(t.run.losses, alone.run.losses);
      for (const std::vector<double>& weights : testing::non_empty(weights_of_copies(t)))
        expect_close(weights, all_weights(alone.run));
      if (adds_in_order(t.program)) {
        ++bit_for_bit;
        EXPECT_EQ(t.run.losses, alone.run.losses);
        EXPECT_EQ(all_weights(t.run), all_weights(alone.run));
      }
      EXPECT_EQ(t.run.consistent_backwards, t.run.backwards);
      for (int versions : testing::non_empty(t.run.versions)) EXPECT_EQ(versions, 1);
    }
  }
  EXPECT_GE(schedules, 11);
  EXPECT_GE(bit_for_bit, 3 * static_cast<int>(models.size()));  // gpipe, 1f1b and interleaved, each
                                                                // model
}

// Changes of where data is kept, or of who sums it, change only the last bits.
TEST(ReferenceBackend, ReplicasShardingAndRecomputeTrainAsOneDevice) {
  struct Case {
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {
      {1, {"recompute=full"}},
      {1, {"recompute=selective", "flash-attention=off"}},
      {1, {"recompute=blocks=1"}},
      {1, {"recompute=op"}},
      {1, {"recompute=full*1,op*2,keep=input"}},
      {1, {"flash-attention=off"}},
      {2, {"pp=2", "recompute=full"}},
      {2, {"dp=2"}},
      {4, {"dp=2", "pp=2"}},
      {2, {"zero=1"}},
      {2, {"zero=2"}},
      {4, {"zero=3", "pp=2"}},
      {4, {"zero=3", "pp=2", "zero-reduce=step"}},
      {4, {"zero=2", "zero-reduce=step"}},
      {4, {"zero=3", "hybrid=2"}},
      {4, {"zero=2", "overlap=off", "recompute=full"}},
  };
  for (const Model& model : {tiny_mlp(4), tiny_transformer({.tied = false}),
                             tiny_transformer({.family = "mixtral", .experts = 3})}) {
    const Trained alone = train(model, 1, {"global-batch=8", "micro-batch=1"}, 2, momentum());
    for (const Case& c : testing::non_empty(cases)) {
      Settings settings = {"global-batch=8", "micro-batch=1"};
      settings.insert(settings.end(), c.settings.begin(), c.settings.end());
      std::string name = model.name;
      for (std::string_view one : c.settings) name += " " + std::string(one);
      SCOPED_TRACE(name);
      const Trained t = train(model, c.devices, settings, 2, momentum());
      expect_close(t.run.losses, alone.run.losses);
      expect_close(all_weights(t.run), all_weights(alone.run));
    }
  }
}

// Combines every schedule with recomputation, and with state sharded over two replicas.
TEST(ReferenceBackend, SchedulesGoTogetherWithRecomputeAndSharding) {
  const Model model = tiny_transformer({.layers = 8});
  const Trained alone = train(model, 1, {"global-batch=16", "micro-batch=1"}, 2, momentum());
  for (const Method& method : testing::non_empty(methods())) {
    if (!synchronous(method)) continue;
    constexpr std::array<const char*, 5> kExtras = {"zero=3", "recompute=full",
                                                    "recompute=keep=input", "zero=1", "zero=2"};
    for (const char* extra : std::span(kExtras).first(testing::cases(kExtras.size(), 1))) {
      SCOPED_TRACE(std::string(method.name) + " " + extra);
      const bool divided = std::string_view(extra).starts_with("zero");
      std::optional<Settings> settings = legal_settings(model, method.name);
      ASSERT_TRUE(settings.has_value());
      (*settings)[3] = "global-batch=16";
      settings->push_back(extra);
      const Trained t =
          train(model, devices_of(*settings) * (divided ? 2 : 1), *settings, 2, momentum());
      expect_close(t.run.losses, alone.run.losses);
      for (const std::vector<double>& weights : testing::non_empty(weights_of_copies(t)))
        expect_close(weights, all_weights(alone.run));
    }
  }
}

// Loss of the first step with one weight moved.
double loss_at(const Model& model, std::size_t layer, std::string_view name, std::size_t element,
               double by) {
  ReferenceOptions options;
  options.weights = [&](ReferenceParameter& p) {
    if (p.layer == static_cast<int>(layer) && p.name == name) p.weights.values[element] += by;
  };
  return train(model, 1, {"global-batch=2", "micro-batch=1"}, 1, options).run.step_losses[0];
}

TEST(ReferenceBackend, AStepFollowsTheGradientOfTheWholeModel) {
  constexpr double kStep = 1e-5;
  for (const Model& model : {tiny_mlp(2), tiny_convnet(2), tiny_transformer({.layers = 2}),
                             tiny_transformer({.layers = 2, .tied = true}),
                             tiny_transformer({.layers = 1, .family = "mixtral", .experts = 3})}) {
    std::vector<ReferenceParameter> before;
    ReferenceOptions options;
    options.rules[0].rate = 1;
    options.weights = [&](ReferenceParameter& p) { before.push_back(p); };
    const ReferenceRun run = train(model, 1, {"global-batch=2", "micro-batch=1"}, 1, options).run;
    ASSERT_EQ(run.parameters.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::size_t e = (7 * i) % before[i].weights.values.size();
      const double gradient = before[i].weights.values[e] - run.parameters[i].weights.values[e];
      const auto loss = [&](double by) {
        return loss_at(model, static_cast<std::size_t>(before[i].layer), before[i].name, e, by);
      };
      const double difference = (loss(kStep) - loss(-kStep)) / (2 * kStep);
      EXPECT_NEAR(gradient, difference, 1e-8 + 1e-6 * std::abs(difference))
          << model.name << " layer " << before[i].layer << " " << before[i].name;
    }
  }
}

TEST(ReferenceBackend, TiesBetweenStagesAreRefused) {
  const Workload w = prepare(scenario(tiny_transformer({.layers = 2, .tied = true}), 2, {"pp=2"}));
  const Diagnostics found = ReferenceMachine::check(w, lower(w, {.grain = Grain::Op}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(
      found[0].message,
      "head/lm_head.weight shares its weights with embedding/wte.weight on another stage, and "
      "no instruction adds their gradients");
}

TEST(ReferenceBackend, WhatItCannotExecuteIsSaid) {
  const auto first = [](const Model& model, std::int64_t devices, const Settings& settings,
                        Grain grain) {
    const Workload w = prepare(scenario(model, devices, settings));
    LowerOptions options;
    options.grain = grain;
    const Diagnostics found = ReferenceMachine::check(w, lower(w, options));
    return found.empty() ? std::string() : found[0].message;
  };
  EXPECT_EQ(first(tiny_transformer(), 2, {"tp=2", "seq=4"}, Grain::Op),
            "the reference executes whole tensors, found tp=2");
  EXPECT_EQ(first(tiny_mlp(2), 1, {}, Grain::Order),
            "expected a program at op grain, found an instruction of no op: forward");
  EXPECT_EQ(first(testing::gpt({.layers = 2, .hidden = 4, .heads = 2}), 1, {}, Grain::Op), "");
}

// The sentence with which a program is refused; "" if it runs.
std::string refusal(const Workload& w, const Program& p) {
  try {
    ReferenceMachine(w, p).run();
  } catch (const Error& error) {
    return describe(error);
  }
  return "";
}

std::uint32_t first(const Program& p, TaskKind kind, Phase phase, std::uint32_t stage) {
  for (std::uint32_t i = 0; i < p.instructions.size(); ++i)
    if (const Task& t = p.task(InstructionId{i});
        t.kind == kind && t.phase == phase && t.stage.value == stage)
      return i;
  throw Error(Error::Kind::Internal, "no such instruction");
}

TEST(ReferenceBackend, WhatIsNotThereIsNamed) {
  const Workload w = prepare(scenario(tiny_mlp(4), 2, {"pp=2", "global-batch=4", "micro-batch=1"}));
  const Program good = lower(w, {.grain = Grain::Op, .steps = 2});
  EXPECT_EQ(refusal(w, good), "");
  Program p = good;
  p.instructions[first(p, TaskKind::Compute, Phase::Backward, 1)].weights = 1;
  EXPECT_EQ(refusal(w, p),
            "it reads weight version 1, which is not there: held are 0 (while executing stage 1 "
            "B0@1 layer 5 loss)");

  p = good;
  p.instructions[first(p, TaskKind::Compute, Phase::Forward, 1)].microbatch = 3;
  EXPECT_EQ(refusal(w, p),
            "activations of microbatch 3 are read, and they are not there (while executing stage 1 "
            "F3 layer 3 fc)");

  p = good;
  p.instructions[first(p, TaskKind::Compute, Phase::Update, 1)].weights = 2;
  EXPECT_EQ(refusal(w, p),
            "it writes weight version 2 when the newest is 0 (while executing stage 1 U0@2)");

  // The message for microbatch 0 is never sent; microbatch 1's is sent twice.
  p = good;
  const std::uint32_t send = first(p, TaskKind::Send, Phase::Forward, 0);
  p.instructions[send].microbatch = 1;
  p.instructions[p.instructions[send].peer.value].microbatch = 1;
  EXPECT_NE(refusal(w, p).find("and they are not there"), std::string::npos) << refusal(w, p);
}

// Changes one instruction so that it works on another microbatch, or reads a version that was never
// written: such a program must never train silently.
TEST(ReferenceBackend, NoInstructionMayBeWrong) {
  for (const char* schedule : {"schedule=1f1b", "schedule=zb-h1"}) {
    const Workload w =
        prepare(scenario(tiny_mlp(4), 2, {schedule, "pp=2", "global-batch=3", "micro-batch=1"}));
    const Program good = lower(w, {.grain = Grain::Op});
    int mutants = 0;
    for (std::uint32_t i = 0; i < good.instructions.size(); ++i) {
      const Task& task = good.task(InstructionId{i});
      const bool computes = task.kind == TaskKind::Compute && task.phase != Phase::Update;
      const auto refused = [&](auto&& change) {
        Program p = good;
        change(p.instructions[i]);
        ++mutants;
        EXPECT_NE(refusal(w, p), "") << describe(good, {i}) << " becomes " << describe(p, {i});
      };
      if (computes || task.kind == TaskKind::Receive)
        for (int by : {1, 2})
          refused([&](Instruction& in) { in.microbatch = (in.microbatch + by) % 3; });
      if (computes) refused([](Instruction& in) { in.weights = 1; });
      if (task.phase == Phase::Update) refused([](Instruction& in) { in.weights = 2; });
    }
    EXPECT_GT(mutants, 100) << schedule;
  }
}

}  // namespace
}  // namespace trainyard
