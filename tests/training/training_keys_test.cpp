#include <gtest/gtest.h>

#include <cmath>

#include "core/training/training.h"

#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string key_refusal(std::string_view assignment) {
  Training training;
  return testing::refusal([&] { apply_training(training, assignment); });
}

TEST(TrainingKeys, EveryKeyReadsBackWhatItWasGiven) {
  for (const TrainingKey& key : testing::non_empty(training_keys())) {
    EXPECT_FALSE(key.doc.empty()) << key.key;
    Training training, again;
    training.milestones = {0.5, 0.75};
    const std::string now = key.read(training);
    again.milestones = training.milestones;
    key.apply(again, now, {});
    EXPECT_EQ(again, training) << key.key << "=" << now;
    for (std::string_view value : key.values) {
      key.apply(again, value, {});
      EXPECT_EQ(key.read(again), value);
    }
  }
}

TEST(TrainingKeys, OneFieldEach) {
  Training training;
  apply_training(training, "rate=0.25");
  apply_training(training, "schedule=cosine");
  apply_training(training, "warmup=10");
  apply_training(training, "milestones=0.5,0.75");
  apply_training(training, "nesterov=on");
  apply_training(training, "seed=7");
  EXPECT_EQ(training.rate, 0.25);
  EXPECT_EQ(training.schedule, RateSchedule::Cosine);
  EXPECT_EQ(training.warmup, 10);
  EXPECT_EQ(training.milestones, (std::vector<double>{0.5, 0.75}));
  EXPECT_TRUE(training.nesterov);
  EXPECT_EQ(training.seed, 7u);
}

TEST(TrainingKeys, RefuseInASentence) {
  EXPECT_EQ(key_refusal("ratte=1"),
            "--train: no training setting is called \"ratte\"; did you mean \"rate\"?; \"trainyard "
            "help train\" lists them");
  EXPECT_EQ(key_refusal("rate"), "--train: expected key=value, found \"rate\"");
  EXPECT_EQ(key_refusal("schedule=cosin"),
            "--train schedule: expected constant, linear, cosine, step, polynomial, inverse-root, "
            "found \"cosin\"; did you mean \"cosine\"?");
  for (std::string_view wrong :
       {"rate=fast", "rate=-1", "rate=nan", "warmup=1.5", "steps=0", "milestones=2", "nesterov=yes",
        "seed=-1", "beta1=1.5", "hysteresis=0", "reference-batch=-1", "batch-rule=linar"})
    EXPECT_NE(key_refusal(wrong), "accepted") << wrong;
}

TEST(TrainingKeys, AWholeIsChecked) {
  EXPECT_TRUE(check(Training{}).empty());
  Training training;
  training.warmup = 200;
  ASSERT_EQ(check(training).size(), 1u);
  EXPECT_EQ(check(training)[0].message, "a warm-up of 200 updates is longer than the run of 100");
  training = {};
  training.schedule = RateSchedule::Step;
  EXPECT_EQ(check(training).size(), 1u);
  training.milestones = {0.7, 0.2};
  EXPECT_EQ(check(training).size(), 1u);
  training = {};
  training.beta2 = 1;
  EXPECT_EQ(check(training).size(), 1u);
}

Training run(RateSchedule schedule) {
  Training training;
  training.rate = 2, training.warmup = 4, training.steps = 104, training.schedule = schedule;
  training.final_rate = 0.1, training.milestones = {0.5, 0.75};
  return training;
}

TEST(RateSchedule, GrowsToThePeakWithTheWarmUp) {
  for (RateSchedule schedule : {RateSchedule::Constant, RateSchedule::Cosine, RateSchedule::Step}) {
    const Training training = run(schedule);
    EXPECT_EQ(rate_at(training, 0), 0.5);
    EXPECT_EQ(rate_at(training, 1), 1);
    EXPECT_EQ(rate_at(training, 3), 2);
    EXPECT_EQ(rate_at(training, 4), 2);
  }
}

TEST(RateOfABatch, GrowsAsItsRuleSays) {
  Training training = run(RateSchedule::Constant);
  const double rate = training.rate;
  EXPECT_EQ(for_batch(training, 1024), training);  // without a reference batch
  training.reference_batch = 256;
  EXPECT_EQ(for_batch(training, 1024).rate, 4 * rate);
  EXPECT_EQ(for_batch(training, 64).rate, rate / 4);
  EXPECT_EQ(for_batch(training, 256).rate, rate);
  training.batch_rule = BatchRule::Root;
  EXPECT_EQ(for_batch(training, 1024).rate, 2 * rate);
  const Training once = for_batch(training, 1024);
  EXPECT_EQ(for_batch(once, 1024), once);
}

// Goyal et al. begin at the rate of the small batch and reach that of the large one.
TEST(RateOfABatch, WarmsUpFromThatOfTheReferenceBatch) {
  Training training = run(RateSchedule::Constant);
  training.reference_batch = 256, training.warmup = 4, training.rate = 1;
  const Training settled = for_batch(training, 1280);
  EXPECT_EQ(rate_at(settled, 0), 2);
  EXPECT_EQ(rate_at(settled, 1), 3);
  EXPECT_EQ(rate_at(settled, 3), 5);
  EXPECT_EQ(rate_at(settled, 4), 5);
}

TEST(RateSchedule, FallsAsItsNameSays) {
  EXPECT_EQ(rate_at(run(RateSchedule::Constant), 1000), 2);
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::Linear), 54), 2 * 0.55);
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::Cosine), 54), 2 * 0.55);
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::Cosine), 29),
                   2 * (0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5))));
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::Polynomial), 54), 2 * (0.1 + 0.9 * 0.25));
  for (RateSchedule schedule :
       {RateSchedule::Linear, RateSchedule::Cosine, RateSchedule::Polynomial}) {
    EXPECT_DOUBLE_EQ(rate_at(run(schedule), 104), 0.2);
    EXPECT_DOUBLE_EQ(rate_at(run(schedule), 5000), 0.2);
  }
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::Step), 51), 2);
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::Step), 52), 0.2);
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::Step), 78), 0.02);
  EXPECT_DOUBLE_EQ(rate_at(run(RateSchedule::InverseRoot), 15), 1);
}

}  // namespace
}  // namespace trainyard
