// Tests training against bit errors and with clipped weights: gradients are the mean of those that
// two kinds of memory give, and every plan trains as one device does.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/training/lossy_weights.h"
#include "core/training/numbers/bit_errors.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::with;

const testing::Settings kOneDevice = {"global-batch=8", "micro-batch=2", "optimizer=momentum"};

Training against_errors(double rate) {
  Training training;
  training.rate = 0.1, training.momentum = 0.5, training.steps = 3;
  training.bit_errors = rate;
  training.bit_errors_below = std::numeric_limits<double>::max();
  return training;
}

double largest_weight(const std::vector<TrainedTensor>& tensors) {
  double largest = 0;
  for (const TrainedTensor& tensor : tensors)
    if (is_matrix(tensor))
      for (const float weight : tensor.values)
        largest = std::max(largest, std::abs(double{weight}));
  return largest;
}

TEST(ClippedWeights, EveryPlanKeepsThemInRangeAndTrainsAsOneDevice) {
  struct Case {
    Model model;
    std::int64_t devices;
    testing::Settings plan;
  };
  const Model mlp = testing::tiny_mlp(4), text = testing::tiny_transformer();
  const std::vector<Case> cases = {
      {mlp, 2, {"dp=2"}},
      {mlp, 2, {"pp=2", "schedule=1f1b"}},
      {mlp, 4, {"dp=4", "zero=3"}},
      {mlp, 4, {"dp=2", "pp=2", "zero=1", "schedule=gpipe"}},
      {text, 2, {"pp=2", "schedule=zb-h1"}},
      {text, 2, {"seq=4", "tp=2"}},
  };
  constexpr double kMost = 0.15;
  Training training = against_errors(0);
  training.weight_clip = kMost, training.rate = 0.5;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.model.name);
    const bool tokens = c.plan.front() == "seq=4";
    const testing::Settings alone = tokens ? with(kOneDevice, {"seq=4"}) : kOneDevice;
    const testing::CpuRun one = testing::train_on_cpu(c.model, 1, alone, training),
                          many = testing::train_on_cpu(c.model, c.devices, with(kOneDevice, c.plan),
                                                       training);
    testing::expect_same_training(many, one, 3e-5);
    EXPECT_GT(largest_weight(one.initial), kMost);
    EXPECT_FLOAT_EQ(static_cast<float>(largest_weight(many.parameters)), static_cast<float>(kMost));
  }
}

TEST(ClippedWeights, AreInRangeInSixteenBitsToo) {
  Training training = against_errors(0);
  training.weight_clip = 0.15, training.rate = 0.5;
  for (const char* how : {"precision=bf16", "precision=fp16", "precision=bf16-sr"}) {
    const testing::CpuRun run =
        testing::train_on_cpu(testing::tiny_mlp(2), 1, with(kOneDevice, {how}), training);
    EXPECT_LE(largest_weight(run.parameters), 0.15) << how;
    EXPECT_GT(largest_weight(run.parameters), 0.149) << how;
  }
}

// The change of all parameters by one update of plain descent at a rate of 1.
std::vector<TrainedTensor> gradient_at(const Model& model, const testing::Settings& settings,
                                       const Training& training,
                                       const std::vector<TrainedTensor>* weights) {
  const Workload w = prepare(testing::scenario(model, 1, settings, "cpu"));
  LowerOptions lowering;
  lowering.grain = Grain::Op, lowering.steps = 1;
  const Program program = lower(w, lowering);
  const testing::SampleNumbers source;
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  CpuBackend backend({w, program, prices, &training, &source});
  if (weights != nullptr) backend.set_parameters(*weights);
  std::vector<TrainedTensor> change = backend.parameters();
  backend.run();
  const std::vector<TrainedTensor> after = backend.parameters();
  for (std::size_t t = 0; t < change.size(); ++t)
    for (std::size_t i = 0; i < change[t].values.size(); ++i)
      change[t].values[i] -= after[t].values[i];
  return change;
}

// Where every bit is flipped, a chip is no matter of chance.
TEST(BitErrorTraining, GradientIsTheMeanOfTheCleanAndTheFlippedOne) {
  // Without dropout, which would drop other elements in a repetition.
  for (const Model& model :
       {testing::tiny_mlp(2), testing::tiny_transformer({.family = "llama"})}) {
    SCOPED_TRACE(model.name);
    Training training = against_errors(1);
    training.steps = 1, training.rate = 1;
    const testing::Settings plan = {"precision=fp32", "micro-batch=2", "optimizer=sgd"};
    const std::vector<TrainedTensor> both =
        gradient_at(model, with(plan, {"global-batch=4"}), training, nullptr);
    Training plain = training;
    plain.bit_errors = 0;
    const testing::CpuRun start =
        testing::train_on_cpu(model, 1, with(plan, {"global-batch=2"}), [&] {
          Training none = plain;
          none.rate = 0;
          return none;
        }());
    std::vector<TrainedTensor> clean = start.initial, flipped = start.initial;
    lose({.bits = 8, .bit_errors = 0.0}, model, clean);
    lose({.bits = 8, .bit_errors = 0.0}, model, flipped);
    flip_bits({.bits = 8, .bit_errors = 1.0}, 1, flipped);
    const auto one = gradient_at(model, with(plan, {"global-batch=2"}), plain, &clean),
               other = gradient_at(model, with(plan, {"global-batch=2"}), plain, &flipped);
    double worst = 0, largest = 0, apart = 0;
    for (std::size_t t = 0; t < both.size(); ++t)
      for (std::size_t i = 0; i < both[t].values.size(); ++i) {
        const double mean = (double{one[t].values[i]} + double{other[t].values[i]}) / 2;
        worst = std::max(worst, std::abs(double{both[t].values[i]} - mean));
        largest = std::max(largest, std::abs(mean));
        apart = std::max(apart, std::abs(double{one[t].values[i]} - double{other[t].values[i]}));
      }
    EXPECT_LT(worst, 2e-5 * std::max(1.0, largest));
    EXPECT_GT(apart, 0.01);
  }
}

TEST(BitErrorTraining, ReplicasTrainAsOneDevice) {
  const Model mlp = testing::tiny_mlp(4), text = testing::tiny_transformer();
  Training training = against_errors(0.02);
  training.weight_clip = 0.3;
  for (const Model& model : {mlp, text}) {
    SCOPED_TRACE(model.name);
    const testing::CpuRun one = testing::train_on_cpu(model, 1, kOneDevice, training);
    for (const testing::Settings& plan :
         {testing::Settings{"dp=2"}, {"dp=2", "zero=2"}, {"dp=2", "zero=3"}, {"recompute=full"}}) {
      const std::int64_t devices = plan.front() == "dp=2" ? 2 : 1;
      testing::expect_same_training(
          testing::train_on_cpu(model, devices, with(kOneDevice, plan), training), one, 3e-5);
    }
    Training without = training;
    without.bit_errors_below = 0;
    const testing::CpuRun clean = testing::train_on_cpu(model, 1, kOneDevice, without);
    EXPECT_GT(testing::apart(one.parameters, clean.parameters), 1e-4);
  }
}

// No bit is flipped before the loss is low, and then pairs have one gradient, twice.
TEST(BitErrorTraining, BeginsWhereTheLossIsLow) {
  const Model model = testing::tiny_mlp(2);
  Training training = against_errors(1);
  training.bit_errors_below = 0;
  const testing::CpuRun high = testing::train_on_cpu(model, 1, kOneDevice, training);
  for (std::size_t m = 0; m < high.run.microbatch_losses.size(); m += 2)
    EXPECT_EQ(high.run.microbatch_losses[m], high.run.microbatch_losses[m + 1]);
  training.bit_errors_below = 1e9;
  const testing::CpuRun low = testing::train_on_cpu(model, 1, kOneDevice, training);
  for (std::size_t m = 0; m < testing::non_empty(low.run.microbatch_losses).size(); m += 2)
    EXPECT_NE(low.run.microbatch_losses[m], low.run.microbatch_losses[m + 1]);
}

// The sentence about a plan that cannot train so; "" where it can.
std::string why_not(const Model& model, std::int64_t devices, const testing::Settings& plan,
                    const Training& training) {
  const Workload w = prepare(testing::scenario(model, devices, plan, "cpu"));
  LowerOptions options;
  options.grain = Grain::Op;
  const Diagnostics found = CpuBackend::check({w, lower(w, options), TaskPrices{}, &training});
  for (const Diagnostic& d : found)
    if (d.severity == Diagnostic::Severity::Error) return d.message;
  return "";
}

TEST(BitErrorTraining, OtherPlansAreRefused) {
  const Model mlp = testing::tiny_mlp(4);
  const Training training = against_errors(0.01);
  const testing::Settings pairs = {"global-batch=4", "micro-batch=1"};
  EXPECT_EQ(why_not(mlp, 1, pairs, training), "");
  EXPECT_EQ(why_not(mlp, 2, with(pairs, {"dp=2"}), training), "");
  EXPECT_EQ(why_not(mlp, 1, {"global-batch=4", "micro-batch=4"}, training),
            "training against bit errors takes an even number of microbatches, of which every "
            "second one repeats the one before it, found 1");
  EXPECT_EQ(why_not(mlp, 2, with(pairs, {"pp=2", "schedule=1f1b"}), training),
            "training against bit errors needs the loss of a microbatch where its repetition "
            "begins, found 2 stages");
  Training clipped;
  clipped.weight_clip = 0.1;
  EXPECT_EQ(why_not(mlp, 2, with(pairs, {"dp=2"}), clipped), "");
  EXPECT_EQ(why_not(mlp, 2, with(pairs, {"dp=2", "reduce=adasum"}), clipped),
            "weights are clipped by the replica that updates them, and Adasum adds the changes of "
            "several to them afterwards");
}

}  // namespace
}  // namespace trainyard
