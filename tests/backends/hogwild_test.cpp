// Tests threads that share weights without locks where what they find is certain: one thread, and
// threads whose samples have no feature in common.
#include "backends/cpu/hogwild/hogwild.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "backends/cpu/hogwild/measure_hogwild.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

std::vector<float> trained(const SparseSamples& samples, const SharedTraining& how) {
  std::vector<float> weights(static_cast<std::size_t>(samples.width));
  train_shared(samples, weights, how);
  return weights;
}

TEST(Hogwild, SamplesHaveAsManyFeaturesAsAsked) {
  const SparseSamples sparse = logistic_samples(200, 50, 7, 3);
  ASSERT_EQ(sparse.size(), 200u);
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    ASSERT_EQ(sparse.first[i + 1] - sparse.first[i], 7u);
    for (std::size_t k = sparse.first[i] + 1; k < sparse.first[i + 1]; ++k)
      ASSERT_LT(sparse.features[k - 1], sparse.features[k]);
    ASSERT_LT(sparse.features[sparse.first[i + 1] - 1], 50u);
  }
  const SparseSamples dense = logistic_samples(10, 5, 5, 3);
  EXPECT_EQ(dense.features.size(), 50u);
  const double ones = std::accumulate(sparse.labels.begin(), sparse.labels.end(), 0.0);
  EXPECT_GT(ones, 40);
  EXPECT_LT(ones, 160);
}

// Without weights every label is as likely as the other.
TEST(Hogwild, TheLossBeginsAtTheLogarithmOfTwo) {
  const SparseSamples samples = logistic_samples(100, 20, 4, 1);
  EXPECT_NEAR(logistic_loss(samples, std::vector<float>(20)), std::log(2.0), 1e-12);
}

// One step from 0 on one sample: rate * (label - 1/2) * value.
TEST(Hogwild, AStepIsThatOfGradientDescent) {
  SparseSamples one;
  one.width = 3;
  one.first = {0, 2};
  one.features = {0, 2};
  one.values = {2, -1};
  one.labels = {1};
  for (const Sharing how : {Sharing::Alone, Sharing::Locked, Sharing::Hogwild})
    EXPECT_EQ(trained(one, {how, 2, 1, 0.5f, 1}), (std::vector<float>{0.5f, 0, -0.25f}));
}

RC_GTEST_PROP(Hogwild, OneThreadComputesAsOneAlone, ()) {
  const std::int64_t width = *rc::gen::inRange<std::int64_t>(1, 60),
                     nonzeros = *rc::gen::inRange<std::int64_t>(1, width + 1);
  const SparseSamples samples = logistic_samples(*rc::gen::inRange<std::int64_t>(1, 200), width,
                                                 nonzeros, *rc::gen::arbitrary<std::uint64_t>());
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const std::vector<float> alone = trained(samples, {Sharing::Alone, 1, 3, 0.5f, seed});
  RC_ASSERT(trained(samples, {Sharing::Locked, 1, 3, 0.5f, seed}) == alone);
  RC_ASSERT(trained(samples, {Sharing::Hogwild, 1, 3, 0.5f, seed}) == alone);
  RC_ASSERT(logistic_loss(samples, alone) > 0);
}

// Each sample has features of its own, so that no thread meets another and none can lose a change.
RC_GTEST_PROP(Hogwild, ThreadsThatNeverMeetComputeAsOneAlone, ()) {
  SparseSamples samples;
  const auto count = *rc::gen::inRange<std::size_t>(1, 300);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      samples.features.push_back(static_cast<std::uint32_t>(3 * i + k));
      samples.values.push_back(static_cast<float>(k) - 1.5f);
    }
    samples.first.push_back(samples.features.size());
    samples.labels.push_back(i % 2 == 0 ? 1.f : 0.f);
  }
  samples.width = static_cast<std::int64_t>(3 * count);
  const std::vector<float> alone = trained(samples, {Sharing::Alone, 1, 2, 0.5f, 1});
  for (const int threads : {2, 3, 5})
    RC_ASSERT(trained(samples, {Sharing::Hogwild, threads, 2, 0.5f, 1}) == alone);
  RC_ASSERT(shared_support(samples, 1).meet == 0);
}

// Whatever the threads do, every update is counted once, and under a lock it is a step of descent
// that finds weights as good.
TEST(Hogwild, ThreadsMakeAllUpdatesAndLearn) {
  const SparseSamples samples = logistic_samples(4000, 300, 8, 5);
  const double alone = logistic_loss(samples, trained(samples, {Sharing::Alone, 1, 4, 0.5f, 1}));
  EXPECT_LT(alone, 0.6);
  for (const Sharing how : {Sharing::Locked, Sharing::Hogwild}) {
    std::vector<float> weights(300);
    SharedTraining training{how, 3, 4, 0.5f, 1};
    training.counts_staleness = true;
    const SharedRun run = train_shared(samples, weights, training);
    EXPECT_EQ(run.updates, 16'000);
    EXPECT_EQ(std::accumulate(run.staleness.begin(), run.staleness.end(), std::int64_t{0}), 16'000);
    EXPECT_LT(logistic_loss(samples, weights), 1.1 * alone);
  }
}

TEST(Hogwild, AStudyHasEveryWayAndSaysWhatFollows) {
  HogwildQuestion question;
  question.threads = 3, question.samples = 500, question.features = 60, question.nonzeros = 4;
  question.dense = 12, question.epochs = 1, question.rounds = 1;
  const HogwildStudy study = measure_hogwild(question);
  ASSERT_EQ(study.rows.size(), 2u * (1 + 3 + 3));  // 1, 2 and 3 threads
  for (const HogwildRow& row : study.rows) {
    EXPECT_GT(row.updates_per_second, 0);
    EXPECT_GT(row.loss_ratio, 0);
  }
  EXPECT_EQ(study.rows.front().gain, 1);
  EXPECT_EQ(study.dense.meet, 1);
  EXPECT_EQ(study.dense.most_frequent, 1);
  EXPECT_LT(study.sparse.meet, 1);
  EXPECT_GE(hogwild_sentences(study).size(), 3u);
  question.nonzeros = 61;
  EXPECT_THROW(measure_hogwild(question), Error);
}

TEST(Hogwild, AStudyEndsWhereItIsStopped) {
  std::stop_source stop;
  stop.request_stop();
  HogwildQuestion question;
  question.samples = 100, question.stop = stop.get_token();
  EXPECT_THROW(measure_hogwild(question), Error);
}

}  // namespace
}  // namespace trainyard
