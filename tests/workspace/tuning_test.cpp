#include "app/workspace/runs/tuning/tuning.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using Kind = Dimension::Kind;

std::vector<Plan> one_plan(const std::string& words = "tp=1") {
  Plan plan;
  apply_words(plan, words);
  return {plan};
}

TEST(Vary, ReadsRangesAndWords) {
  const Vary micro = parse_vary("micro-batch=1..64", one_plan());
  EXPECT_EQ(micro.dimension.kind, Kind::Integer);
  EXPECT_TRUE(micro.dimension.log);
  EXPECT_EQ(micro.dimension.start, 1);
  const Vary few = parse_vary("micro-batch=2..6@4", one_plan());
  EXPECT_FALSE(few.dimension.log);
  EXPECT_EQ(few.dimension.start, 4);
  // A whole range of a key that takes fractions is real.
  const Vary offset = parse_vary("tick-tock.offset=0..1", one_plan("schedule=tick-tock"));
  EXPECT_EQ(offset.dimension.kind, Kind::Real);
  EXPECT_EQ(value_text(offset, 1.0 / 3), "0.3333");
  const Vary rate = parse_vary("train.rate=1e-4..0.1@0.01", {});
  EXPECT_TRUE(rate.training && rate.dimension.log);
  EXPECT_EQ(rate.dimension.kind, Kind::Real);
  EXPECT_EQ(value_text(rate, 0.01), "0.01");
  EXPECT_EQ(parse_vary("train.warmup=0..20", {}).dimension.kind, Kind::Integer);
  const Vary tp = parse_vary("tp=1,2,4,8@4", one_plan());
  EXPECT_EQ(tp.words, (std::vector<std::string>{"1", "2", "4", "8"}));
  EXPECT_EQ(tp.dimension.start, 2);
  EXPECT_EQ(value_text(tp, 3), "8");
}

std::string refused(const std::string& text) {
  try {
    parse_vary(text, one_plan());
  } catch (const Error& e) {
    return e.place().text + ": " + e.what();
  }
  return "";
}

TEST(Vary, SaysWhatIsWrongWithItsWords) {
  EXPECT_EQ(refused("micro-batch"),
            "--vary: expected KEY=LOW..HIGH or KEY=WORD,WORD, found \"micro-batch\"");
  EXPECT_NE(refused("micro-bach=1..4").find("did you mean \"micro-batch\""), std::string::npos);
  EXPECT_NE(refused("train.rat=1..4").find("did you mean \"rate\""), std::string::npos);
  EXPECT_NE(refused("micro-batch=0..4").find("from 1 to"), std::string::npos);
  EXPECT_NE(refused("tp=1,two").find("found \"two\""), std::string::npos);
  EXPECT_NE(refused("tp=8..1").find("bounds that rise, found 8..1"), std::string::npos);
  EXPECT_NE(refused("tp=1,2@4").find("expected a start among 1,2, found \"4\""), std::string::npos);
  EXPECT_NE(refused("micro-batch=1..4@9").find("expected a start from 1 to 4, found 9"),
            std::string::npos);
  EXPECT_NE(refused("micro-batch=1..x").find("expected a number, found \"x\""), std::string::npos);
}

TuneRequest small() {
  TuneRequest request;
  request.base = {"llama-3-8b", "h100-sxm:8", "", {"global-batch=32"}};
  request.vary = {"micro-batch=1..16", "tp=1,2,4,8"};
  request.arms = {"recompute=none", "recompute=full"};
  request.options.most_evaluations = 1000;
  return request;
}

TEST(Tune, TriesEverythingOnceAndKnowsTheBest) {
  const TuneReport report = tune(small());
  EXPECT_TRUE(report.exhausted);
  EXPECT_EQ(report.trials.size(), 2u * 16 * 4);
  ASSERT_TRUE(report.best);
  std::set<std::string> seen;
  int misfits = 0, illegal = 0;
  double spent = 0, best = 1e300;
  for (const TuneTrial& t : testing::non_empty(report.trials)) {
    EXPECT_TRUE(seen.insert(std::to_string(t.arm) + t.set[0] + t.set[1]).second);
    EXPECT_EQ(t.value.has_value(), t.why_not.empty());
    EXPECT_GT(t.cost, 0);
    misfits += t.why_not.starts_with("does not fit: ");
    illegal += t.why_not.find("not a whole number of microbatches") != std::string::npos;
    spent += t.cost;
    if (t.value) best = std::min(best, *t.value);
  }
  EXPECT_GT(misfits, 3);
  EXPECT_GT(illegal, 3);
  EXPECT_DOUBLE_EQ(report.spent(), spent);
  const TuneTrial& found = report.trials[*report.best];
  EXPECT_EQ(*found.value, best);
  // Its words reproduce the plan that was tried.
  Request again = small().base;
  again.settings.push_back(report.arms[found.arm].settings);
  again.settings.insert(again.settings.end(), found.set.begin(), found.set.end());
  EXPECT_EQ(to_seconds(simulate(open(again), {.fixes = false})->result.step.value), best);
}

TEST(Tune, KeepsWithinItsBudgetAndIsTheSameEachTime) {
  TuneRequest request = small();
  request.options.most_evaluations = 12;
  request.goal = TuneGoal::Memory;
  const TuneReport one = tune(request), two = tune(request);
  ASSERT_EQ(one.trials.size(), 12u);
  for (std::size_t i = 0; i < one.trials.size(); ++i)
    EXPECT_EQ(one.trials[i].set, two.trials[i].set);
  request.options.most_evaluations = 1000;
  request.options.most_cost = one.spent() / 2;
  EXPECT_LT(tune(request).trials.size(), 12u);
  std::stop_source stop;
  request.options.stop = stop.get_token();
  request.options.most_cost = 1e300;
  request.progress = [&](const TuneReport& now) {
    if (now.trials.size() == 5) stop.request_stop();
  };
  const TuneReport stopped = tune(request);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.trials.size(), 5u);
}

// A setting that only one family accepts is varied only there; a balanced split is computed for
// every plan.
TEST(Tune, FamiliesVaryWhatTheyTake) {
  TuneRequest request;
  request.base = {"llama-2-13b", "h100-sxm:16", "", {"global-batch=64", "split=balanced"}};
  request.vary = {"pp=2,3,4,8,16", "interleaved.missing=1..2"};
  EXPECT_THROW(tune(request), Error);
  request.vary = {"pp=2,4,8,16", "tick-tock.offset=0..1"};
  request.arms = {"schedule=1f1b", "schedule=tick-tock"};
  request.options.most_evaluations = 12;
  const TuneReport report = tune(request);
  bool sixteen = false;
  for (const TuneTrial& t : testing::non_empty(report.trials)) {
    EXPECT_EQ(t.set.size(), t.arm == 0 ? 1u : 2u);
    sixteen |= t.set[0] == "pp=16" && t.arm == 0 && t.why_not.find("layers") == std::string::npos;
  }
  EXPECT_TRUE(sixteen);
}

std::string refused(const TuneRequest& request) {
  try {
    tune(request);
  } catch (const Error& e) {
    return e.place().text + ": " + e.what();
  }
  return "";
}

TuneRequest rates() {
  TuneRequest request;
  request.base = {
      "mlp-small", "cpu:1", "", {"global-batch=32", "micro-batch=32", "precision=fp32"}};
  request.vary = {"train.rate=1e-4..1"};
  request.goal = TuneGoal::Loss;
  request.measure = true;
  request.training.steps = 5;
  request.data = "random";
  request.options.most_evaluations = 9;
  return request;
}

TEST(Tune, RefusesWhatCannotBeHad) {
  TuneRequest request = small();
  request.goal = TuneGoal::Loss;
  EXPECT_EQ(refused(request), "--objective: a loss is not simulated; --measure trains for real");
  request = small();
  request.vary.push_back("tp=1,2");
  EXPECT_EQ(refused(request), "--vary: tp is varied twice");
  request.vary = {"train.rate=0.1..1"};
  EXPECT_NE(refused(request).find("expected --measure"), std::string::npos);
  request.vary.clear(), request.arms.clear();
  EXPECT_NE(refused(request).find("expected settings to vary"), std::string::npos);
  request = rates();
  request.fuse = 4, request.measure = false, request.goal = TuneGoal::Time;
  EXPECT_EQ(refused(request),
            "--fuse: expected --measure beside it: simulated trials are not trained");
  request.measure = true;
  EXPECT_NE(refused(request).find("--fuse: expected --objective loss"), std::string::npos);
  request.fuse.reset();
  request.measure = true, request.goal = TuneGoal::Money;
  EXPECT_NE(refused(request).find("money is not measured"), std::string::npos);
}

void expect_same_trials(const TuneReport& fused, const TuneReport& alone) {
  ASSERT_EQ(fused.trials.size(), alone.trials.size());
  for (std::size_t i = 0; i < alone.trials.size(); ++i) {
    EXPECT_EQ(fused.trials[i].set, alone.trials[i].set);
    EXPECT_EQ(fused.trials[i].train, alone.trials[i].train);
    EXPECT_EQ(fused.trials[i].value, alone.trials[i].value);
    EXPECT_EQ(fused.trials[i].why_not, alone.trials[i].why_not);
  }
  EXPECT_EQ(fused.best, alone.best);
}

// To be trained together changes no loss, and no step of the search.
TEST(Tune, TrialsThatAreTrainedTogetherHaveTheLossesOfTheirOwnRuns) {
  TuneRequest request = rates();
  request.vary = {"train.rate=1e-3..1e3", "train.clip=0,1", "train.seed=1,2"};
  const TuneReport alone = tune(request);
  EXPECT_FALSE(alone.fusion);
  request.fuse = 4;
  const TuneReport fused = tune(request);
  expect_same_trials(fused, alone);
  ASSERT_TRUE(fused.fusion);
  std::int64_t together = 0;
  for (const TuneTrial& t : testing::non_empty(fused.trials)) {
    EXPECT_NE(t.together > 0, !t.why_alone.empty());
    EXPECT_LE(t.together, 4);
    together += t.together > 0;
  }
  EXPECT_EQ(fused.fusion->trials, together);
  EXPECT_GE(together, 6);
  EXPECT_GT(fused.fusion->runs, 0);
  EXPECT_GT(fused.fusion->gain.value_or(0), 0);
  EXPECT_GT(fused.fusion->predicted.value_or(0), 0);
  EXPECT_GT(fused.fusion->would_fit.value_or(0), 4);
}

// A trial that was trained ahead in vain is not lost where it is better than all that the search
// tried.
TEST(Tune, TheBestThatWasTrainedAheadIsToldWhereItIsBetter) {
  TuneRequest request = rates();
  request.vary = {"train.rate=1e-4..10@10"};  // begins where next to everything else is better
  request.fuse = 16;
  std::stop_source stop;
  request.options.stop = stop.get_token();
  request.progress = [&](const TuneReport&) { stop.request_stop(); };
  const TuneReport report = tune(request);
  ASSERT_TRUE(report.fusion && report.best);
  ASSERT_EQ(report.trials.size(), 1u);
  EXPECT_EQ(report.fusion->unneeded, 8);
  EXPECT_GT(report.fusion->unneeded_seconds, 0);
  ASSERT_TRUE(report.fusion->ahead_value);
  EXPECT_LT(*report.fusion->ahead_value, *report.trials[*report.best].value);
  TrainingRequest again;
  again.scenario = open(request.base), again.training = request.training, again.data = "random";
  ASSERT_EQ(report.fusion->ahead_train.size(), 1u);
  apply_training(again.training, report.fusion->ahead_train.front());
  EXPECT_EQ(TrainingJob(std::move(again)).run(false, nullptr).run.losses.back(),
            *report.fusion->ahead_value);
}

// A setting of the plan makes another program: its trials are trained with their likes only.
TEST(Tune, TrialsOfOtherPlansAreOtherPrograms) {
  TuneRequest request = rates();
  request.vary = {"micro-batch=8,16,32", "train.rate=1e-3,1e-2"};
  request.options.most_evaluations = 100;
  const TuneReport alone = tune(request);
  request.fuse = 8;
  const TuneReport fused = tune(request);
  expect_same_trials(fused, alone);
  EXPECT_TRUE(fused.exhausted);
  for (const TuneTrial& t : testing::non_empty(fused.trials)) {
    EXPECT_EQ(t.together, 2);
  }
  EXPECT_EQ(fused.fusion->trials, 6);
  EXPECT_EQ(fused.fusion->runs, 3);
  EXPECT_EQ(fused.fusion->jobs, 2);
}

TEST(Tune, WhatCannotBeTrainedTogetherIsTrainedAloneAndSaysWhy) {
  TuneRequest request = rates();
  request.base.cluster = "cpu:2", request.base.settings.push_back("micro-batch=16");
  request.fuse = 4;
  request.options.most_evaluations = 3;
  const TuneReport report = tune(request);
  for (const TuneTrial& t : testing::non_empty(report.trials)) {
    EXPECT_TRUE(t.value);
    EXPECT_EQ(t.together, 0);
    EXPECT_EQ(t.why_alone, "jobs that are trained together share one device, found a plan of 2");
  }
  EXPECT_EQ(report.fusion->runs, 0);
  EXPECT_FALSE(report.fusion->gain);
  // Nor are jobs trained here that their own run would not be.
  request.base.cluster = "h100-sxm:1";
  const TuneReport elsewhere = tune(request);
  for (const TuneTrial& t : testing::non_empty(elsewhere.trials)) {
    EXPECT_FALSE(t.value);
    EXPECT_NE(t.why_not.find("such as cpu:1"), std::string::npos) << t.why_not;
    EXPECT_EQ(t.why_alone, t.why_not);
  }
}

// A run that is stopped leaves no trial behind.
TEST(Tune, AStoppedFusedRunIsNoTrial) {
  TuneRequest request = rates();
  request.fuse = 4;
  std::stop_source stop;
  request.options.stop = stop.get_token();
  request.progress = [&](const TuneReport& now) {
    if (now.trials.size() == 2) stop.request_stop();
  };
  const TuneReport report = tune(request);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.trials.size(), 2u);
}

TEST(Tune, TrainsForRealAndTheBestCanBeTrainedAgain) {
  TuneRequest request;
  request.base = {"mlp-small", "cpu:1", "", {"global-batch=32", "precision=fp32"}};
  request.vary = {"train.rate=1e-4..1"};
  request.goal = TuneGoal::Loss;
  request.measure = true;
  request.training.steps = 10;
  request.data = "random";
  request.options.most_evaluations = 5;
  const TuneReport report = tune(request);
  ASSERT_EQ(report.trials.size(), 5u);
  EXPECT_EQ(report.trials.front().train, std::vector<std::string>{"rate=0.0001"});
  ASSERT_TRUE(report.best);
  const TuneTrial& best = report.trials[*report.best];
  TrainingRequest again;
  again.scenario = open(request.base), again.training = request.training, again.data = "random";
  apply_training(again.training, best.train.front());
  EXPECT_EQ(TrainingJob(std::move(again)).run(false, nullptr).run.losses.back(), *best.value);
}

}  // namespace
}  // namespace trainyard
