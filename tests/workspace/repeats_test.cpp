#include "app/workspace/runs/repeats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "app/workspace/comparison/judged_runs.h"
#include "app/workspace/runs/run_recording.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"
#include "tests/support/cases.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

struct RepeatCase {
  const char *model, *data;
  std::vector<std::string> settings;
};

Scenario scenario_of(const RepeatCase& c) { return open({c.model, "cpu:2", "", c.settings}); }

std::vector<std::vector<float>> weights_after(const RepeatCase& c, const Training& training) {
  TrainingRequest request;
  request.scenario = scenario_of(c);
  request.training = training;
  request.data = c.data;
  TrainingJob job(std::move(request));
  job.run(false, nullptr);
  std::vector<std::vector<float>> all;
  for (TrainedTensor& tensor : job.parameters()) all.push_back(std::move(tensor.values));
  return all;
}

// A law: another seed of a source changes a run where the run draws that source, and leaves every
// bit where it does not. Seeds that are the same make the same bits.
TEST(Repeats, AChangedSeedChangesWhatIsDrawnWithItAndNothingElse) {
  const RepeatCase cases[] = {
      {"mlp-small", "fashion-mnist", {"global-batch=8", "precision=fp32"}},
      {"mlp-small", "fashion-mnist-augmented", {"global-batch=8", "precision=fp32", "pp=2"}},
      {"gpt-tiny", "licenses", {"global-batch=4", "micro-batch=1", "precision=bf16-sr"}},
      {"mlp-small", "random", {"dp=2", "global-batch=8", "precision=fp32", "compression=mstopk"}},
  };
  for (const RepeatCase& c : testing::sampled(cases, 4)) {
    SCOPED_TRACE(std::string(c.model) + " on " + c.data);
    Training training;
    training.steps = 3, training.rate = 0.05;
    const auto plain = weights_after(c, training);
    EXPECT_EQ(weights_after(c, training), plain);
    const std::vector<RandomSource> drawn = random_sources_of(scenario_of(c), c.data);
    for (std::size_t i = 0; i < kRandomSources; ++i) {
      const auto source = static_cast<RandomSource>(i);
      SCOPED_TRACE(to_string(source));
      if (source == RandomSource::Split && !data_entry(c.data).splits) continue;  // is refused
      const bool draws = std::find(drawn.begin(), drawn.end(), source) != drawn.end();
      // The last bit of four bytes is seldom left once weights are rounded to two.
      if (source == RandomSource::Noise && c.settings.back() == "precision=bf16-sr") continue;
      const Training other = repeat_of(training, {source}, 41);
      const auto changed = weights_after(c, other);
      EXPECT_EQ(changed != plain, draws);
      if (draws) {
        EXPECT_EQ(weights_after(c, other), changed);
      }
    }
  }
}

// Noise is the least that a weight can move, and it is enough to tell one run from another.
TEST(Repeats, NoiseMovesAWeightByOneBit) {
  const RepeatCase c{"mlp-small", "random", {"global-batch=8", "precision=fp32"}};
  Training training;
  training.steps = 1, training.rate = 0;
  const auto plain = weights_after(c, training),
             noisy = weights_after(c, repeat_of(training, {RandomSource::Noise}, 0));
  std::int64_t moved = 0;
  for (std::size_t t = 0; t < plain.size(); ++t)
    for (std::size_t e = 0; e < plain[t].size(); ++e) {
      const float a = plain[t][e], b = noisy[t][e];
      if (a == b) continue;
      ++moved;
      EXPECT_TRUE(b == std::nextafter(a, HUGE_VALF) || b == std::nextafter(a, -HUGE_VALF));
    }
  EXPECT_GT(moved, 0);
}

TEST(Repeats, OnlySourcesThatARunHasAreVaried) {
  const Scenario mlp = scenario_of({"mlp-small", "", {"global-batch=8"}});
  EXPECT_EQ(
      read_varied("all", mlp, "random"),
      (std::vector<RandomSource>{RandomSource::Order, RandomSource::Weights, RandomSource::Noise}));
  EXPECT_EQ(read_varied("weights,order", mlp, ""),
            (std::vector<RandomSource>{RandomSource::Weights, RandomSource::Order}));
  EXPECT_EQ(testing::refusal([&] { read_varied("dropout", mlp, "random"); }),
            "--vary: expected all, or some of order, weights, noise, which this run can draw at "
            "random; found dropout, which it cannot");
  EXPECT_EQ(testing::refusal([&] { read_varied("order,order", mlp, "random"); }),
            "--vary: expected each source once, found order twice");
  EXPECT_NE(testing::refusal([&] { read_varied("", mlp, "random"); }), "accepted");
  EXPECT_NE(testing::refusal([&] { read_varied("order,", mlp, "random"); }), "accepted");
}

TEST(Repeats, EveryRepeatHasSeedsOfItsOwn) {
  Training training;
  training.seed = 5;
  const std::vector<RandomSource> varied = {RandomSource::Order, RandomSource::Split};
  const Training third = repeat_of(training, varied, 2);
  EXPECT_EQ(seed_of(third, RandomSource::Order), 7u);
  EXPECT_EQ(seed_of(third, RandomSource::Weights), 5u);
  EXPECT_EQ(data_seeds(third).split, 7u);
  Training again;
  for (const std::string& word : training_words(third)) apply_training(again, word);
  EXPECT_EQ(again, third) << "a record of the run has all of its seeds";
}

TEST(Repeats, ASummaryIsThatOfItsFigures) {
  const ScoreSummary s = summarise({1, 2, 3, 6});
  EXPECT_EQ(s.runs, 4);
  EXPECT_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(14.0 / 3));
  EXPECT_EQ(s.lowest, 1);
  EXPECT_EQ(s.highest, 6);
  EXPECT_EQ(summarise({4}).deviation, 0);
}

RunScore score(std::uint64_t order, double accuracy, double step) {
  RunScore s;
  s.seed = 1, s.seeds[0] = order;
  s.accuracy = accuracy, s.loss = 1 - accuracy, s.step = step;
  return s;
}

TEST(JudgedRuns, RunsThatShareTheirSeedsArePairs) {
  const std::vector<RunScore> a = {score(1, 0.9, 1), score(2, 0.8, 1)},
                              b = {score(2, 0.81, 2), score(1, 0.91, 2)};
  const std::vector<JudgedFigure> judged = judge(a, b);
  ASSERT_EQ(judged.size(), 2u) << "the loss of the last steps says less than an evaluation";
  EXPECT_EQ(judged[0].key, "accuracy");
  EXPECT_TRUE(judged[0].scores.paired);
  EXPECT_EQ(judged[0].scores.a, (std::vector<double>{0.9, 0.8}));
  EXPECT_EQ(judged[0].scores.b, (std::vector<double>{0.91, 0.81}));
  EXPECT_EQ(judged[1].key, "step");
  EXPECT_TRUE(judged[1].scores.less_is_better);
  EXPECT_EQ(judged_text(judged[0], 0.9312), "93.12 %");
}

TEST(JudgedRuns, ADriftOfTheMachineIsPossibleWhereSidesDoNotAlternate) {
  std::vector<RunScore> a = {score(1, 0.9, 1), score(2, 0.8, 1)}, b = a;
  a[0].started = "2026-11-22T13:00:00Z", a[1].started = "2026-11-22T13:02:00Z";
  b[0].started = "2026-11-22T13:01:00Z", b[1].started = "2026-11-22T13:03:00Z";
  EXPECT_FALSE(came_apart(a, b));
  b[0].started = "2026-11-22T13:02:30Z";
  EXPECT_TRUE(came_apart(a, b));
  EXPECT_TRUE(came_apart(b, a));
  EXPECT_FALSE(came_apart({}, a));
}

TEST(JudgedRuns, OtherRunsAreListsWithoutPairs) {
  std::vector<RunScore> a = {score(1, 0.9, 1), score(2, 0.8, 1)};
  EXPECT_FALSE(judge(a, {score(1, 0.9, 1), score(3, 0.8, 1)})[0].scores.paired);
  EXPECT_FALSE(judge(a, {score(1, 0.9, 1)})[0].scores.paired);
  EXPECT_FALSE(judge({score(1, 0.9, 1), score(1, 0.9, 1)}, a)[0].scores.paired);
  a[1].accuracy.reset();
  EXPECT_EQ(judge(a, a)[0].key, "loss") << "a figure that one run lacks is not judged";
  EXPECT_TRUE(judge({}, a).empty());
}

}  // namespace
}  // namespace trainyard
