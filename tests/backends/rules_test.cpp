// Rules on real runs: each fires within two intervals of a fault that is planted, none on runs
// without one, and all alike however a plan lays the run out.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/model/graph_builder.h"
#include "core/training/checkpoint.h"
#include "tests/support/tiny_models.h"
#include "tests/support/watched_runs.h"

namespace trainyard {
namespace {

using testing::fired_text;
using testing::TaughtSamples;
using testing::tiny_convnet;
using testing::Watched;
using testing::watched_run;

constexpr std::int64_t kInterval = 10;

Model mlp() { return build_mlp({"mlp", 16, 32, 4, 4}); }

// Products with a tanh in between.
Model tanh_network() {
  Model model;
  model.name = "tanh network";
  model.family = "mlp";
  model.tokens = false;
  GraphBuilder b;
  b.graph.input = b.activation("x", {kBatch, whole(16)});
  const TensorId h = b.node("tanh", tanh_op(), {b.linear("fc1", b.graph.input, whole(32), true)});
  model.blocks.push_back(b.block("all", 1, true, b.loss(b.linear("fc2", h, whole(4), true))));
  return model;
}

Training of_rate(double rate, std::int64_t steps = 2 * kInterval) {
  Training training;
  training.rate = rate;
  training.steps = steps;
  return training;
}

void fill(TrainedTensor& tensor, float value) {
  std::fill(tensor.values.begin(), tensor.values.end(), value);
}

// Expects that the rule fires within two intervals.
void expect_fires(const std::string& rule, const BackendRun& run) {
  for (const FiredRule& one : run.rules)
    if (one.rule == rule) {
      EXPECT_LE(one.step, 2 * kInterval) << one.sentence;
      EXPECT_FALSE(one.advice.empty());
      return;
    }
  ADD_FAILURE() << rule << " did not fire; there fired\n" << fired_text(run.rules);
}

TEST(RulesOnRuns, AGradientThatVanishesBelowALayerOfTinyWeights) {
  const auto tiny = [](TrainedTensor& t) {
    if (t.layer == 5 && t.shape.size() == 2)
      for (float& value : t.values) value *= 1e-8f;
  };
  expect_fires("vanishing-gradient", watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(1e-3),
                                                 {"vanishing-gradient", kInterval, false, tiny}));
}

TEST(RulesOnRuns, WeightsThatExplodeAtAnEnormousRate) {
  expect_fires("exploding-tensor", watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(1e20),
                                               {"exploding-tensor", kInterval}));
}

TEST(RulesOnRuns, UpdatesThatAreFarLargerThanWeights) {
  expect_fires("weight-update-ratio", watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(1e6),
                                                  {"weight-update-ratio", kInterval}));
}

TEST(RulesOnRuns, UpdatesThatSixteenBitsSwallow) {
  expect_fires("weight-update-ratio",
               watched_run(mlp(), 1, {"precision=bf16-nearest", "optimizer=sgd"}, of_rate(1e-8),
                           {"weight-update-ratio", kInterval}));
}

TEST(RulesOnRuns, ALayerOfZeros) {
  const auto zero = [](TrainedTensor& t) {
    if (t.layer == 1) fill(t, 0);
  };
  expect_fires("all-zero", watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(0.1),
                                       {"all-zero", kInterval, false, zero}));
}

TEST(RulesOnRuns, WeightsThatARateTooLowLeavesAsTheyAre) {
  expect_fires("unchanged-tensor", watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(1e-12),
                                               {"unchanged-tensor", kInterval}));
}

TEST(RulesOnRuns, ReluThatABiasKills) {
  const auto kill = [](TrainedTensor& t) {
    if (t.layer == 1 && t.shape.size() == 1) fill(t, -100);
  };
  const BackendRun run =
      watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(0.1), {"dead-relu", kInterval, false, kill});
  expect_fires("dead-relu", run);
  EXPECT_EQ(run.rules.front().layer, 1);
  EXPECT_EQ(run.rules.front().found, 100);
}

TEST(RulesOnRuns, TanhThatABiasSaturates) {
  const auto saturate = [](TrainedTensor& t) {
    if (t.name == "fc1.bias") fill(t, 50);
  };
  expect_fires("saturated-activation",
               watched_run(tanh_network(), 1, {"optimizer=sgd"}, of_rate(0.1),
                           {"saturated-activation", kInterval, false, saturate}));
}

TEST(RulesOnRuns, WeightsThatBeginAsZeros) {
  const auto zero = [](TrainedTensor& t) { fill(t, 0); };
  expect_fires("poor-weight-initialization",
               watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(0.1),
                           {"poor-weight-initialization", kInterval, false, zero}));
}

TEST(RulesOnRuns, AUnitWhoseWeightsBeginTenTimesAsLarge) {
  const auto scale = [](TrainedTensor& t) {
    for (std::size_t i = 3; t.layer == 0 && t.shape.size() == 2 && i < t.values.size(); i += 32)
      t.values[i] *= 10;
  };
  expect_fires("poor-weight-initialization",
               watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(0.01),
                           {"poor-weight-initialization", kInterval, false, scale}));
}

TEST(RulesOnRuns, WeightsWhoseVarianceLeavesItsRange) {
  const auto scale = [](TrainedTensor& t) {
    for (float& value : t.values) value *= 1000;
  };
  expect_fires("tensor-variance", watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(1e-9),
                                              {"tensor-variance", kInterval, false, scale}));
}

TEST(RulesOnRuns, ImagesThatAreNotCentred) {
  expect_fires("check-input-images", watched_run(tiny_convnet(1), 1, {}, of_rate(0.01),
                                                 {"check-input-images.samples=100", kInterval},
                                                 TaughtSamples({.offset = 1})));
}

TEST(RulesOnRuns, ALossThatShuffledLabelsKeepFromFalling) {
  expect_fires("loss-not-decreasing",
               watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(1e-4, 40),
                           {"loss-not-decreasing", kInterval}, TaughtSamples({.shuffled = 1})));
}

TEST(RulesOnRuns, AModelThatIsOverfit) {
  expect_fires("overfit", watched_run(mlp(), 1,
                                      {"optimizer=sgd", "evaluation=one", "evaluation.every=5",
                                       "evaluation.samples=100"},
                                      of_rate(0.1), {"overfit", kInterval},
                                      TaughtSamples({.evaluation_shuffled = 1})));
}

TEST(RulesOnRuns, ATrainingThatGoesOnInVain) {
  expect_fires("overtraining", watched_run(mlp(), 1,
                                           {"optimizer=sgd", "evaluation=one", "evaluation.every=2",
                                            "evaluation.samples=100"},
                                           of_rate(1e-9), {"overtraining", kInterval}));
}

TEST(RulesOnRuns, AClassWithFewSamples) {
  expect_fires("class-imbalance",
               watched_run(mlp(), 1, {}, of_rate(0.01), {"class-imbalance", kInterval},
                           TaughtSamples({.first_class = 0.95})));
}

TEST(RulesOnRuns, ClassesThatAreTakenForOneAnother) {
  expect_fires("confusion", watched_run(mlp(), 1, {}, of_rate(0.01), {"confusion", kInterval},
                                        TaughtSamples({.shuffled = 1})));
}

TEST(RulesOnRuns, ALossScaleThatCollapses) {
  const auto huge = [](TrainedTensor& t) {
    if (t.shape.size() == 2)
      for (float& value : t.values) value *= 1e3f;
  };
  Training training = of_rate(0.1);
  training.loss_scale = 8;
  training.hysteresis = 1;
  expect_fires("loss-scale-collapse",
               watched_run(mlp(), 1, {"precision=fp16", "optimizer=sgd"}, training,
                           {"loss-scale-collapse", kInterval, false, huge}));
}

TEST(RulesOnRuns, AnArenaThatIsNearlyFull) {
  const BackendRun whole = watched_run(mlp(), 1, {}, of_rate(0.1, 2), {"arena-overflow"});
  EXPECT_TRUE(whole.rules.empty()) << fired_text(whole.rules);
  Watched how{"arena-overflow", kInterval};
  how.options.memory_limit = Bytes{whole.memory.front().most.value * 101 / 100};
  expect_fires("arena-overflow", watched_run(mlp(), 1, {}, of_rate(0.1), how));
}

TEST(RulesOnRuns, ARunThatRepeatsAnEarlierOne) {
  const BackendRun earlier = watched_run(mlp(), 1, {}, of_rate(0.1), {"all", kInterval});
  Watched how{"similar-across-runs.run=1", kInterval};
  how.earlier = earlier.losses;
  expect_fires("similar-across-runs", watched_run(mlp(), 1, {}, of_rate(0.1), how));
  EXPECT_TRUE(watched_run(mlp(), 1, {}, of_rate(0.099), how).rules.empty());
}

TEST(RulesOnRuns, TextsThatAreMostlyPaddingHoweverThePlanDividesThem) {
  const Model model = testing::tiny_transformer();
  const TaughtSamples padded({.padding = 0.7});
  const std::vector<std::pair<std::int64_t, testing::Settings>> plans = {
      {1, {}}, {2, {"dp=2"}}, {2, {"tp=2"}}, {2, {"pp=2"}}, {2, {"cp=2"}}};
  std::string told;
  for (const auto& [devices, words] : plans) {
    testing::Settings all = {"global-batch=8", "micro-batch=4", "seq=4"};
    all.insert(all.end(), words.begin(), words.end());
    const BackendRun run =
        watched_run(model, devices, all, of_rate(0.01), {"nlp-sequence-ratio", kInterval}, padded);
    expect_fires("nlp-sequence-ratio", run);
    if (told.empty()) told = fired_text(run.rules);
    EXPECT_EQ(fired_text(run.rules), told);
    EXPECT_TRUE(watched_run(model, devices, all, of_rate(0.01), {"nlp-sequence-ratio", kInterval})
                    .rules.empty());
  }
}

// Five models of a hundred steps.
TEST(RulesOnRuns, NoneFiresOnFiveHundredCleanSteps) {
  struct Case {
    Model model;
    double rate;
  };
  const Case cases[] = {{mlp(), 0.05},
                        {tiny_convnet(2), 0.02},
                        {testing::tiny_transformer(), 0.02},
                        {testing::tiny_transformer({.family = "llama"}), 0.02},
                        {build_lstm({"lstm", 7, 8, 1, 5}), 0.05}};
  for (const Case& c : cases) {
    const BackendRun run =
        watched_run(c.model, 1, {"optimizer=momentum"}, of_rate(c.rate, 100),
                    {"all,nlp-sequence-ratio", kRuleInterval}, TaughtSamples({.shuffled = 0.1}));
    EXPECT_EQ(run.losses.size(), 100u);
    EXPECT_LT(run.losses.back(), run.losses.front()) << c.model.name;
    EXPECT_TRUE(run.rules.empty()) << c.model.name << "\n" << fired_text(run.rules);
  }
}

TEST(RulesOnRuns, StopEndsTheRunWithTheStepAtWhichARuleFires) {
  const auto kill = [](TrainedTensor& t) {
    if (t.layer == 1 && t.shape.size() == 1) fill(t, -100);
  };
  Watched how{"dead-relu", kInterval, true, kill};
  const BackendRun at_once = watched_run(mlp(), 1, {}, of_rate(0.1, 100), how);
  EXPECT_TRUE(at_once.stopped);
  EXPECT_EQ(at_once.stopped_by_rule, 1);
  EXPECT_EQ(at_once.losses.size(), 1u);
  how = {"loss-not-decreasing", kInterval, true};
  const BackendRun later = watched_run(mlp(), 1, {"optimizer=sgd"}, of_rate(1e-9, 100), how);
  ASSERT_FALSE(later.rules.empty());
  EXPECT_EQ(later.stopped_by_rule, later.rules.front().step);
  EXPECT_LE(static_cast<std::int64_t>(later.losses.size()), later.rules.front().step + 1);
  EXPECT_LT(later.losses.size(), 100u);
}

TEST(RulesOnRuns, StepsThatNobodyLooksAtAndLooksThemselvesChangeNoBit) {
  const Training training = of_rate(0.05, 30);
  const BackendRun one = watched_run(mlp(), 1, {}, training, {"all", 1}),
                   other = watched_run(mlp(), 1, {}, training, {"all", 1000});
  EXPECT_EQ(one.losses, other.losses);
}

std::set<std::string> fired_where(const BackendRun& run) {
  std::set<std::string> all;
  for (const FiredRule& one : run.rules)
    all.insert(one.rule + " " + one.where + " at " + std::to_string(one.step));
  return all;
}

// One device, and the same training over several, by every way to divide it.
TEST(RulesOnRuns, FireAlikeHoweverThePlanDividesTheRun) {
  const auto kill = [](TrainedTensor& t) {
    if (t.layer == 1 && t.shape.size() == 1) fill(t, -100);
    if (t.layer == 3 && t.shape.size() == 2) fill(t, 0);
  };
  const Watched how{
      "vanishing-gradient,exploding-tensor,all-zero,dead-relu,unchanged-tensor,weight-update-ratio,"
      "poor-weight-initialization,class-imbalance,confusion",
      kInterval, false, kill};
  const Training training = of_rate(0.05);
  const std::set<std::string> alone =
      fired_where(watched_run(mlp(), 1, {"optimizer=sgd", "micro-batch=16"}, training, how));
  EXPECT_GT(alone.size(), 5u);
  const std::vector<std::pair<std::int64_t, testing::Settings>> plans = {
      {2, {"dp=2"}},           {2, {"pp=2"}},           {2, {"tp=2"}},
      {2, {"dp=2", "zero=1"}}, {2, {"dp=2", "zero=2"}}, {2, {"dp=2", "zero=3"}},
      {4, {"dp=2", "pp=2"}}};
  for (const auto& [devices, words] : plans) {
    testing::Settings all = {"optimizer=sgd", "micro-batch=16"};
    all.insert(all.end(), words.begin(), words.end());
    std::string names;
    for (const std::string_view word : words) names += std::string(word) + " ";
    EXPECT_EQ(fired_where(watched_run(mlp(), devices, all, training, how)), alone) << names;
  }
}

// B-NUM-06: errors of memory that hold optimizer state show in the step that reads it.
TEST(RulesOnRuns, AnExponentBitThatFlipsInOptimizerState) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("flip-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  Watched before{"all", 1};
  before.options.checkpoint = (folder / "five.ckpt").string(), before.options.until = 5;
  const Training training = of_rate(0.05, 10);
  const testing::Settings momentum = {"optimizer=momentum"};
  watched_run(mlp(), 1, momentum, training, before);
  const Checkpoint saved = load_checkpoint(before.options.checkpoint);
  std::filesystem::remove_all(folder);
  const auto next_step = [&](const Checkpoint& from) {
    Watched after{"all", 1};
    after.options.from = std::make_shared<Checkpoint>(from), after.options.until = 6;
    return watched_run(mlp(), 1, momentum, training, after);
  };
  EXPECT_TRUE(next_step(saved).rules.empty()) << fired_text(next_step(saved).rules);
  // Biases begin at zero, so that no rule judges how far they move.
  std::vector<bool> in_matrix;
  for (const Block& block : mlp().blocks)
    for (int layer = 0; layer < block.count; ++layer)
      for (const Tensor& tensor : block.graph.tensors)
        if (tensor.kind == TensorKind::Parameter)
          in_matrix.insert(in_matrix.end(),
                           static_cast<std::size_t>(local_elements(tensor.shape, {})),
                           tensor.shape.size() > 1);
  int flips = 0;
  for (std::size_t p = 0; p < saved.parts.size(); ++p) {
    if (!saved.parts[p].name.starts_with("optimizer state")) continue;
    const std::string& state = saved.parts[p].content;
    ASSERT_EQ(state.size(), in_matrix.size() * sizeof(float));
    for (std::size_t i = 0; i < in_matrix.size(); i += in_matrix.size() / 40) {
      float velocity = 0;
      std::memcpy(&velocity, state.data() + i * sizeof velocity, sizeof velocity);
      if (!in_matrix[i] || std::abs(velocity) < 1e-6f) continue;  // of a unit that is never active
      Checkpoint flipped = saved;
      flipped.parts[p].content[i * sizeof velocity + 3] ^= 0x40;  // first bit of the exponent
      const BackendRun run = next_step(flipped);
      ASSERT_FALSE(run.rules.empty()) << "velocity " << velocity << " at " << i;
      EXPECT_EQ(run.rules.front().step, 6);
      ++flips;
    }
  }
  EXPECT_GE(flips, 6);
}

TEST(RulesOnRuns, AnAsynchronousRunIsJudgedByItsLosses) {
  const BackendRun run =
      watched_run(mlp(), 2, {"pp=2", "schedule=pipedream", "optimizer=sgd", "micro-batch=16"},
                  of_rate(1e-9, 40), {"all", kInterval});
  expect_fires("loss-not-decreasing", run);
}

}  // namespace
}  // namespace trainyard
