// Numbers of real runs: every plan shows those of one device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/training/numbers/number_record.h"
#include "tests/support/tiny_models.h"
#include "tests/support/watched_runs.h"

namespace trainyard {
namespace {

using testing::Settings;

constexpr auto kWeights = static_cast<std::size_t>(NumberClass::Weights),
               kGradients = static_cast<std::size_t>(NumberClass::Gradients),
               kActivations = static_cast<std::size_t>(NumberClass::Activations);

struct Recorded {
  NumberRecord record;
  BackendRun run;
};

Recorded recorded_run(const Model& model, std::int64_t devices, const Settings& settings,
                      const Training& training, std::int64_t interval,
                      const std::string& rules = "overfit") {
  const auto record = std::make_shared<NumberRecord>(interval);
  testing::Watched how{rules, interval};
  how.options.numbers = record;
  BackendRun run = testing::watched_run(model, devices, settings, training, how);
  return {*record, std::move(run)};
}

Training steps_at(std::int64_t steps, double rate = 0.01) {
  Training training;
  training.steps = steps, training.rate = rate;
  return training;
}

Model numbers_mlp() { return build_mlp({"mlp", 16, 32, 4, 4}); }

// Sums in another order round differently, which moves a number from a binade into the next one
// only where it lies at the edge between them. What lies 2^20 below the largest is left out: the
// gradient of a key's bias is zero but for rounding.
std::int64_t moved_between(const ExponentHistogram& a, const ExponentHistogram& b) {
  std::int64_t apart = 0;
  const int most = a.most().value_or(0);
  for (int e = most - 20; e <= most; ++e) apart += std::abs(a.count(e) - b.count(e));
  return apart;
}

void expect_numbers_of_one_device(const Model& model, const Recorded& one, std::int64_t devices,
                                  const Settings& settings) {
  const Recorded other = recorded_run(model, devices, settings, steps_at(1), 1);
  ASSERT_NE(other.record.shown(), nullptr);
  const auto &expected = one.record.histograms(), &found = other.record.histograms();
  // Tensor ranks pad seven tokens to eight, whose weights of four are zeros in table and head.
  const std::int64_t padding = settings.front() == "tp=2" || settings[1] == "tp=2" ? 8 : 0;
  ExponentHistogram weights = expected[kWeights];
  weights.zeros += padding;
  EXPECT_TRUE(found[kWeights] == weights);
  EXPECT_EQ(found[kGradients].elements(), found[kWeights].elements());
  for (const std::size_t c : {kGradients, kActivations}) {
    EXPECT_GT(expected[c].elements(), 0);
    EXPECT_EQ(found[c].elements(), expected[c].elements() + (c == kGradients ? padding : 0)) << c;
    EXPECT_LE(moved_between(found[c], expected[c]), expected[c].elements() / 200) << c;
  }
  const CancelledCount a = one.record.shown()->updates, b = other.record.shown()->updates;
  EXPECT_GT(a.asked, 0);
  EXPECT_NEAR(static_cast<double>(b.asked), static_cast<double>(a.asked), 2);
  EXPECT_NEAR(b.share(), a.share(), 0.01);
}

TEST(Numbers, OfEveryPlanAreThoseOfOneDevice) {
  const Model model = testing::tiny_transformer({.layers = 4});
  const auto with = [](Settings settings) {
    settings.insert(settings.end(), {"global-batch=8", "micro-batch=2", "seq=4", "optimizer=sgd"});
    return settings;
  };
  const Recorded one = recorded_run(model, 1, with({}), steps_at(1), 1);
  ASSERT_NE(one.record.shown(), nullptr);
  const std::vector<std::pair<std::int64_t, Settings>> plans = {
      {2, {"dp=2"}},         {2, {"dp=2", "zero=1"}}, {2, {"dp=2", "zero=3"}},
      {2, {"pp=2"}},         {2, {"tp=2"}},           {2, {"cp=2"}},
      {4, {"tp=2", "pp=2"}}, {4, {"dp=2", "tp=2"}},   {1, {"recompute=full"}}};
  for (const auto& [devices, settings] : plans) {
    SCOPED_TRACE(std::string(settings.front()) + " " + std::string(settings.back()));
    expect_numbers_of_one_device(model, one, devices, with(settings));
  }
}

TEST(Numbers, AreCountedOnceEach) {
  const Recorded one = recorded_run(numbers_mlp(), 1, {"optimizer=sgd"}, steps_at(1), 1);
  const auto& found = one.record.histograms();
  EXPECT_EQ(found[kWeights].elements(), found[kGradients].elements());
  // A perceptron of 4 layers of 32 units, each with a relu, and 64 samples.
  EXPECT_EQ(found[kActivations].elements() % (64 * 32), 0);
  EXPECT_GT(found[kActivations].zeros, 0);
  EXPECT_EQ(one.record.looks().size(), 1u);
}

TEST(Numbers, BesideRulesChangeNeitherThemNorTheRun) {
  const Training training = steps_at(8, 0.1);
  for (const char* rules : {"overfit", "all"}) {
    const Recorded recorded =
        recorded_run(numbers_mlp(), 2, {"dp=2", "optimizer=sgd"}, training, 3, rules);
    const BackendRun plain =
        testing::watched_run(numbers_mlp(), 2, {"dp=2", "optimizer=sgd"}, training, {rules, 3});
    EXPECT_EQ(recorded.run.losses, plain.losses);
    EXPECT_EQ(testing::fired_text(recorded.run.rules), testing::fired_text(plain.rules));
    std::vector<std::int64_t> steps;
    for (const NumberLook& look : recorded.record.looks()) steps.push_back(look.step);
    EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 3, 6, 8}));
  }
}

TEST(Numbers, ShowTheUpdatesThatNearestRoundingCancelsAndOthersKeep) {
  const auto cancelled = [](const char* precision) {
    return recorded_run(build_mlp({"mlp", 16, 32, 2, 4}), 1, {precision, "optimizer=sgd"},
                        steps_at(20, 1e-3), 20)
        .record.looks()
        .back()
        .updates.share();
  };
  EXPECT_GE(cancelled("precision=bf16-nearest"), 0.5);
  EXPECT_LT(cancelled("precision=bf16"), 0.05);
  for (const char* other : {"precision=bf16-sr", "precision=bf16-kahan"})
    EXPECT_EQ(cancelled(other), 0) << other;
}

TEST(Numbers, FollowTheLossScaleAndSayWhichStepsItSkipped) {
  Training training = steps_at(12);
  training.loss_scale = 0x1p32, training.scale_window = 1000;
  const Recorded found =
      recorded_run(numbers_mlp(), 1, {"precision=fp16", "optimizer=sgd"}, training, 1);
  ASSERT_EQ(found.record.looks().size(), 12u);
  EXPECT_EQ(found.record.loss_scales().front().scale, 0x1p32);
  std::int64_t skipped = 0;
  for (const NumberLook& look : found.record.looks()) {
    skipped += look.skipped ? 1 : 0;
    EXPECT_EQ(look.counts[kWeights].elements() == 0, look.skipped) << look.step;
    EXPECT_EQ(look.windows[kGradients].most, 15 - std::ilogb(look.loss_scale)) << look.step;
    EXPECT_EQ(look.windows[kWeights].most, 15);
  }
  EXPECT_EQ(skipped, found.run.skipped);
  EXPECT_GT(skipped, 0);
}

TEST(Numbers, HaveTheWindowsOfTheirPlansFormats) {
  const auto formats = [](const char* precision) {
    const Recorded found = recorded_run(numbers_mlp(), 1, {precision}, steps_at(1), 1);
    std::string text;
    for (const NumberWindow& window : found.record.looks()[0].windows) text += window.format + " ";
    return text;
  };
  EXPECT_EQ(formats("precision=fp32"), "fp32 fp32 fp32 ");
  EXPECT_EQ(formats("precision=bf16"), "bf16 bf16 bf16 ");
  EXPECT_EQ(formats("precision=fp16"), "fp16 fp16 fp16 ");
  EXPECT_EQ(formats("precision=flex16"), "int16 int16 int16 ");
}

}  // namespace
}  // namespace trainyard
