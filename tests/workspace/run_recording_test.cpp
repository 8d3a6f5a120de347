// A run becomes a record, and the record gives the same picture again.
#include "app/workspace/runs/run_recording.h"

#include <gtest/gtest.h>

#include "app/workspace/runs/run_document.h"
#include "app/workspace/scenario/wave_study.h"
#include "core/base/error.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

RunWords small_words() {
  RunWords words;
  words.request = {"mlp-small", "cpu:2", "", {"pp=2", "global-batch=8", "precision=fp32"}};
  words.training.steps = 3;
  words.training.seed = 7;
  words.training.rate = 0.05;
  return words;
}

TrainingReport trained(const RunWords& words) {
  TrainingRequest request;
  request.scenario = open(words.request);
  request.training = words.training;
  request.data = "random";
  return TrainingJob(std::move(request)).run(false, nullptr);
}

TEST(RunRecording, WordsOfATrainingMakeItAgain) {
  const RunWords words = small_words();
  Training again;
  for (const std::string& word : training_words(words.training)) apply_training(again, word);
  EXPECT_EQ(again, words.training);
  EXPECT_EQ(training_words({}), (std::vector<std::string>{"steps=100", "seed=1"}));
}

TEST(RunRecording, ARecordSaysWhatTheReportSays) {
  const RunWords words = small_words();
  const TrainingReport report = trained(words);
  const RecordedRun run = record_of(report, words, "2026-11-22T13:45:10Z");
  EXPECT_EQ(run.entry.name, "mlp-small on cpu:2");
  EXPECT_EQ(run.entry.outcome, "done");
  EXPECT_EQ(run.entry.steps, 3);
  EXPECT_EQ(run.entry.step, report.step);
  EXPECT_EQ(run.entry.loss, report.run.losses.back());
  EXPECT_EQ(run.entry.settings, words.request.settings);
  EXPECT_EQ(run.document, run_document(report));
}

TEST(RunRecording, ARecordOpensAsTheRunThatItWas) {
  const RunWords words = small_words();
  const TrainingReport report = trained(words);
  RecordedRun run = record_of(report, words, "");
  run.entry.id = 5;
  const PastRun past = open_run(run);
  EXPECT_EQ(past.losses, report.run.losses);
  EXPECT_EQ(past.predicted->timeline.spans, report.predicted->timeline.spans);
  EXPECT_EQ(past.measured->timeline.spans, report.measured->timeline.spans);
  EXPECT_EQ(past.measured->result.step.value, report.measured->result.step.value);
  EXPECT_EQ(past.comparison.measured_step, report.comparison.measured_step);
}

// A run says what its plan's study says, during it and when it is opened again.
TEST(RunRecording, WavesThatShareADeviceHaveTheirAlignedPeak) {
  RunWords words = small_words();
  EXPECT_FALSE(trained(words).aligned_peak);
  words.request.cluster = "cpu:1";
  words.request.settings = {"schedule=tick-tock", "global-batch=64", "micro-batch=16",
                            "precision=fp32"};
  const TrainingReport report = trained(words);
  const Scenario scenario = open(words.request);
  const auto study = wave_study(scenario, natural_grain(scenario));
  ASSERT_NE(study, nullptr);
  EXPECT_EQ(report.aligned_peak, study->offsets.front().peak);
  EXPECT_GT(report.aligned_peak, worst_peak(report.predicted->result));
  RecordedRun run = record_of(report, words, "");
  EXPECT_EQ(open_run(run).aligned_peak, report.aligned_peak);
}

TEST(RunRecording, AnotherLayoutIsNotDrawnOverIt) {
  const RunWords words = small_words();
  RecordedRun run = record_of(trained(words), words, "");
  run.entry.id = 5;
  run.entry.settings = {"dp=2", "global-batch=8", "precision=fp32"};
  try {
    open_run(run);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place().text, "run 5");
    EXPECT_NE(std::string(error.what()).find("laid out otherwise"), std::string::npos);
  }
  run.timeline.clear();
  EXPECT_THROW(open_run(run), Error);
}

TEST(RunRecording, TheTimeOfDayIsWrittenInOneZone) {
  EXPECT_EQ(utc_text(std::chrono::system_clock::time_point(std::chrono::seconds(1795355110))),
            "2026-11-22T13:45:10Z");
}

}  // namespace
}  // namespace trainyard
