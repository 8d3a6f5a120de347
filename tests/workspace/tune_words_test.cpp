#include "app/workspace/runs/tuning/tune_words.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace trainyard {
namespace {

using SettingTexts = std::vector<std::string>;

TEST(TuneWords, FamiliesAreOneForEachValue) {
  EXPECT_EQ(parse_families("schedule=1f1b,zb-h1"),
            (SettingTexts{"schedule=1f1b", "schedule=zb-h1"}));
  EXPECT_EQ(parse_families("recompute=full"), (SettingTexts{"recompute=full"}));
  for (const char* wrong : {"schedule", "=1f1b", "schedule=", "schedule=1f1b,", "schedule=,1f1b"}) {
    try {
      parse_families(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.place().text, "--arms");
      EXPECT_EQ(
          std::string(error.what()),
          std::string("expected KEY=WORD,WORD as schedule=1f1b,zb-h1, found \"") + wrong + "\"");
    }
  }
}

TuneReport two_families() {
  TuneReport report;
  report.goal = TuneGoal::Loss;
  report.arms = {{"", 0, 0, {}}, {"recompute=full order=d0/compute 0F0 0B0", 0, 0, {}}};
  TuneTrial trial;
  trial.set = {"tp=2"}, trial.train = {"rate=0.1"};
  trial.value = 0.25;
  report.trials = {trial, trial};
  report.trials[1].arm = 1;
  return report;
}

// An order has words of its own, which stay one setting, and a shell must not take it apart.
TEST(TuneWords, TheSettingsOfATrialAreThoseOfItsFamilyAndItsOwn) {
  const TuneReport report = two_families();
  EXPECT_EQ(plan_settings(report, report.trials[0]), (SettingTexts{"tp=2"}));
  EXPECT_EQ(plan_settings(report, report.trials[1]),
            (SettingTexts{"recompute=full", "order=d0/compute 0F0 0B0", "tp=2"}));
  EXPECT_EQ(flag_words(report, report.trials[0]), "--set tp=2 --train rate=0.1");
  EXPECT_EQ(flag_words(report, report.trials[1]),
            "--set recompute=full --set 'order=d0/compute 0F0 0B0' --set tp=2 --train rate=0.1");
}

TEST(TuneWords, TheCommandAsksTheSame) {
  TuneRequest request;
  request.base = {"llama-3-8b", "h100-sxm:8", "", {"global-batch=64"}};
  request.vary = {"micro-batch=1..16", "tp=1,2,4,8@2"};
  request.arms = {"schedule=interleaved virtual-stages=2"};
  request.training.steps = 1;
  request.options.most_evaluations = 30;
  EXPECT_EQ(tune_command(request),
            "trainyard tune --model llama-3-8b --cluster h100-sxm:8 --set global-batch=64 --vary "
            "micro-batch=1..16 --vary tp=1,2,4,8@2 --arm 'schedule=interleaved virtual-stages=2' "
            "--objective time --steps 1 --trials 30 --seed 0");
  request.base = {"it's mine.json", "cpu:1", "a plan.json", {}};
  request.vary = {"train.rate=1e-3..1"}, request.arms.clear();
  request.goal = TuneGoal::Loss, request.measure = true;
  request.training.momentum = 0.5, request.training.steps = 20;
  request.data = "random", request.fuse = 0;
  request.options.most_cost = 2.5, request.options.seed = 7;
  EXPECT_EQ(tune_command(request),
            "trainyard tune --model 'it'\\''s mine.json' --cluster cpu:1 --plan 'a plan.json' "
            "--vary train.rate=1e-3..1 --objective loss --measure --train momentum=0.5 --steps 20 "
            "--data random --fuse auto --trials 30 --budget 2.5 --seed 7");
  request.fuse = 8;
  EXPECT_NE(tune_command(request).find(" --fuse 8 "), std::string::npos);
}

TEST(TuneWords, ARunOfATrialBeginsWithItsSettingsOfTraining) {
  TuneRequest request;
  request.training.momentum = 0.5, request.training.steps = 7, request.training.rate = 0.3;
  EXPECT_EQ(training_words(request, two_families().trials[0]),
            (SettingTexts{"rate=0.1", "momentum=0.5"}));
}

TEST(TuneWords, HowManyTrialsWereTrainedTogetherIsSaidInSentences) {
  TuneReport report = two_families();
  EXPECT_EQ(fusion_sentences(report), SettingTexts{});
  report.trials[1].why_alone = "its data are its own";
  report.fusion.emplace();
  report.fusion->runs = 1, report.fusion->trials = 4, report.fusion->jobs = 4;
  report.fusion->unneeded = 1, report.fusion->unneeded_seconds = 0.25;
  report.fusion->predicted = 3.04;
  report.fusion->ahead_value = 0.125, report.fusion->ahead_train = {"rate=0.3"};
  report.fusion->would_fit = 900;
  report.fusion->priced = {{2, 1.66}, {4, 3.04}};
  EXPECT_EQ(
      fusion_sentences(report),
      (SettingTexts{"4 of 2 trials were trained together, in 1 run.",
                    "Another 1 trial was trained ahead in 250 ms, and the search went elsewhere.",
                    "The best of what was trained ahead is better than every trial: 0.125 with "
                    "rate 0.3 of training.",
                    "1 trial was trained alone: its data are its own.",
                    "As predicted, 2 jobs together have 1.7 times the samples per second of one "
                    "after another, 4 jobs 3.0 times.",
                    "4 jobs together are predicted to have 3.0 times the samples per second of "
                    "one after another; so few updates cannot measure it.",
                    "900 jobs would fit in the memory of the device."}));
  report.fusion->gain = 2.96;
  EXPECT_EQ(fusion_sentences(report)[5],
            "4 jobs together have 3.0 times the samples per second of one after another; 3.0 times "
            "was predicted.");
}

TEST(TuneReport, ARemarkTellsWhatTheFiguresDoNot) {
  TuneTrial trial;
  EXPECT_EQ(trial_remark(trial), "");
  trial.better = true, trial.together = 4;
  EXPECT_EQ(trial_remark(trial), "best so far; one of 4 together");
  trial = {};
  trial.why_not = "does not fit: 3 GiB over", trial.why_alone = "a plan of 2";
  EXPECT_EQ(trial_remark(trial), "does not fit: 3 GiB over; alone: a plan of 2");
  trial.why_alone = trial.why_not;
  EXPECT_EQ(trial_remark(trial), "does not fit: 3 GiB over");
}

}  // namespace
}  // namespace trainyard
