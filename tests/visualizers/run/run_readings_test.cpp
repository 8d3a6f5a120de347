// Tests the figures beside a run: each measured value with its prediction.
#include "visualizers/run/run_readings.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/support/non_empty.h"
#include "tests/visualizers/run/run_models.h"
#include "visualizers/run/run_panels.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing_run::done;
using testing_run::half_way;

std::map<std::string, RunReading> by_name(const RunModel& model) {
  std::map<std::string, RunReading> readings;
  for (const RunReading& reading : run_readings(model)) readings[reading.name] = reading;
  return readings;
}

TEST(RunReadings, WhatIsMeasuredStandsOverWhatWasPredicted) {
  RunModel model = done();
  auto e = std::make_shared<Experiment>(*model.predicted);
  e->result.step.value = e->result.step.low = e->result.step.high = 40ms;
  e->result.tokens_per_step = 880;
  model.predicted = e;
  model.step = 44ms;
  const auto readings = by_name(model);
  EXPECT_EQ(readings.at("Step time").value, "44.0 ms");
  EXPECT_EQ(readings.at("Step time").note, "predicted 40.0 ms, +10.0 %");
  EXPECT_EQ(readings.at("Peak memory").value, "19.0 GiB");
  EXPECT_EQ(readings.at("Peak memory").note, "predicted 19.0 GiB, \u00B10.0 %");
  EXPECT_EQ(readings.at("Tokens per second").value, "20\u2009000");
  EXPECT_EQ(readings.at("Loss").value, "1.1");
  EXPECT_EQ(readings.at("Loss").note, "update 4 of 4");
}

TEST(RunReadings, WhatIsNotThereYetIsADash) {
  RunModel model = half_way();
  model.losses.clear();
  model.waves.clear();
  model.spans.clear();
  for (const RunReading& reading : testing::non_empty(run_readings(model)))
    EXPECT_EQ(reading.value, "\u2013") << reading.name;
  EXPECT_FALSE(judge_run(model));
  EXPECT_FALSE(time_residuals(model));
  EXPECT_FALSE(memory_residuals(model));
  EXPECT_TRUE(run_notes(model).empty());
  EXPECT_EQ(run_residuals_height(model, true), 0);
}

TEST(RunReadings, WhatIsLeftGoesOnAtThePaceSoFar) {
  RunModel model = half_way();
  model.steps = 10;
  model.so_far = 3s;
  EXPECT_EQ(by_name(model).at("Left").value, "12.0 s");
  EXPECT_EQ(by_name(model).at("Left").note, "3.00 s so far");
  model.running = false;
  EXPECT_EQ(by_name(model).at("Left").value, "0 s");
}

TEST(RunReadings, ThePredictionHoldsWithinItsLimits) {
  RunModel model = done();
  auto e = std::make_shared<Experiment>(*model.predicted);
  e->result.step.value = 40ms;
  model.predicted = e;
  model.step = 46ms;
  EXPECT_TRUE(judge_run(model)->holds);
  EXPECT_EQ(judge_run(model)->sentence,
            "Prediction holds: step +15.0 % (limit 15 %), peak \u00B10.0 % (limit 5 %)");
  model.step = 47ms;
  EXPECT_FALSE(judge_run(model)->holds);
  model.step = 33ms;
  EXPECT_FALSE(judge_run(model)->holds);
  model.step = 40ms;
  WaveResidual& wave = model.comparison->waves[1];
  wave.measured_peak = Bytes{wave.predicted_peak.value / 10 * 9};
  EXPECT_EQ(judge_run(model)->sentence,
            "Prediction is off: step \u00B10.0 % (limit 15 %), peak \u221210.0 % (limit 5 %)");
}

// The rows of both tables sum to the last to the nanosecond and the byte.
TEST(RunReadings, ResidualsSumToTheirTotal) {
  RunModel model = done();
  MemoryWave& wave = model.waves[0];
  wave.samples[wave.peak].bytes[static_cast<std::size_t>(Category::Workspace)] += 3_MiB;
  for (const auto& residuals : {time_residuals(model), memory_residuals(model)}) {
    ASSERT_TRUE(residuals);
    std::int64_t predicted = 0, measured = 0;
    for (const RunResidual& part : residuals->parts)
      predicted += part.predicted, measured += part.measured;
    EXPECT_EQ(predicted, residuals->sum.predicted);
    EXPECT_EQ(measured, residuals->sum.measured);
    EXPECT_NE(residuals->sum.difference(), 0);
  }
  EXPECT_EQ(memory_residuals(model)->of, "Peak of Stage 0");
  EXPECT_EQ(memory_residuals(model)->parts.back().name, "workspace");
  EXPECT_EQ(memory_residuals(model)->sum.difference(), (3_MiB).value);
}

TEST(RunReadings, InWordsForWhoDoesNotSeeIt) {
  RunModel model = done();
  model.running = true;
  model.first_sample = 310ms;
  model.frames_per_second = 61;
  const std::string words = spell_run_readings(model);
  for (const char* part : {"Prediction ", "Step time ",
                           "by cause: forward 8.80 ms, predicted 8.00 ms, mostly forward, +10.0 %;",
                           "first sample after 310 ms.", "61 frames per second.",
                           "step 35.2 ms, predicted 32.0 ms, sum of the rows, exact.",
                           "largest deviation: Stage 0, B0, +10.0 %.",
                           "Stage 0, B0: 4.40 ms, predicted 4.00 ms, +10.0 %."})
    EXPECT_NE(words.find(part), std::string::npos) << part << " in " << words;
}

TEST(RunReadings, ARowIsToldUnderThePointer) {
  const RunModel model = done();
  const Hover row = describe_run_panel(model, {ItemKind::Other, kTimeTag});
  EXPECT_EQ(row.title, "forward");
  EXPECT_EQ(row.value, "measured 8.80 ms");
  ASSERT_EQ(row.lines.size(), 4u);
  EXPECT_EQ(row.lines[0], "predicted 8.00 ms");
  EXPECT_EQ(row.lines[2], "mostly forward, +10.0 %");
  EXPECT_EQ(row.lines[3], "forward 8.80 ms, predicted 8.00 ms");
  const Hover reading = describe_run_panel(model, {ItemKind::Other, kReadingTag + 4});
  EXPECT_EQ(reading.title, "Loss");
  EXPECT_EQ(describe_run_panel(model, {ItemKind::Other, kReadingTag + 6}).title, "");
  EXPECT_EQ(describe_run_panel(model, {ItemKind::Other, kMemoryTag + 99}).title, "");
}

}  // namespace
}  // namespace trainyard
