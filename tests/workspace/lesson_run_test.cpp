// Tests a lesson's check on a run: on a stored one, whose every figure is known, and on a real one.
#include "app/workspace/lessons/lesson_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/workspace/lessons/lesson_engine.h"
#include "core/lesson/lesson_text.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

// Lesson 9 and its last step, which asks for a run.
struct Asynchrony {
  LessonEngine engine{open_lesson("asynchrony")};
  std::size_t index = engine.lesson().steps.size() - 1;
  const LessonStep& step() const { return engine.lesson().steps[index]; }
  LessonRun run(const char* rewound) const {
    return filled(*step().run,
                  with_settings(settings_of(engine.lesson(), index), {{"rewound", rewound}}));
  }
  bool passes(const LessonSettings& facts) const {
    return engine.value(step().check->passes,
                        with_settings(settings_of(engine.lesson(), index), facts)) != 0;
  }
};

// A run as predicted, with all times multiplied by `times`.
RecordedRun stored(const LessonRun& run, std::vector<double> losses, int times = 1) {
  TrainingReport report;
  report.predicted = predict_training(open(run_request(run)), run_training(run), nullptr);
  const Experiment& predicted = *report.predicted;
  report.run.losses = std::move(losses);
  report.run.timeline = predicted.timeline;
  report.run.waves = predicted.waves;
  for (Span& span : report.run.timeline.spans) span = {span.start * times, span.end * times};
  for (MemoryWave& wave : report.run.waves)
    for (MemoryWave::Sample& sample : wave.samples) sample.at = sample.at * times;
  report.step = predicted.result.step.value * times;
  report.measured = measured_experiment(predicted, report.run.timeline, report.run.waves,
                                        *cost_model(predicted.workload.scenario));
  report.comparison =
      compare(predicted.program, {predicted.timeline, predicted.waves},
              {report.run.timeline, report.run.waves}, predicted.prices.recompute_share);
  RecordedRun made = record_of(report, {run_request(run), run_training(run), ""}, "");
  made.entry.id = 1;
  return made;
}

std::vector<double> falling(double first, double last, std::int64_t count) {
  std::vector<double> losses;
  for (std::int64_t i = 0; i < count; ++i)
    losses.push_back(first +
                     (last - first) * static_cast<double>(i) / static_cast<double>(count - 1));
  return losses;
}

TEST(LessonRun, AStoredRunPassesWhereItsLossFellAndItsLanesAreFull) {
  const Asynchrony lesson;
  const LessonRun run = lesson.run("on");
  const PastRun past = open_run(stored(run, falling(4.3, 4.2, run.steps), 2));
  const LessonSettings facts = run_facts(past, run);
  EXPECT_EQ(facts.at("ran"), "1");
  EXPECT_EQ(facts.at("run_updates"), "40");
  EXPECT_DOUBLE_EQ(std::stod(facts.at("run_loss")), 4.2);
  EXPECT_DOUBLE_EQ(std::stod(facts.at("run_step")), 2 * std::stod(facts.at("run_predicted_step")));
  // All stretched alike: it waits the same share.
  EXPECT_NEAR(std::stod(facts.at("run_bubble")), std::stod(facts.at("run_predicted_bubble")),
              1e-12);
  EXPECT_EQ(facts.at("run_peak"), facts.at("run_predicted_peak"));
  EXPECT_TRUE(lesson.passes(facts));
  const std::string words = run_facts_text(facts);
  EXPECT_TRUE(words.starts_with("It waited ")) << words;
  EXPECT_TRUE(words.ends_with("The loss went from 4.3 to 4.2.")) << words;
}

TEST(LessonRun, AStoredRunThatDivergedDoesNotPass) {
  const Asynchrony lesson;
  const LessonRun run = lesson.run("off");
  for (const double last : {4.4, 63.5, std::nan("")}) {
    std::vector<double> losses = falling(4.3, 4.4, run.steps);
    losses.back() = last;
    const LessonSettings facts = run_facts(open_run(stored(run, losses)), run);
    EXPECT_FALSE(lesson.passes(facts)) << last;
    EXPECT_EQ(facts.at("ran"), "1");
  }
  LessonSettings diverged = {{"ran", "1"}, {"run_first_loss", "4.3"}, {"run_loss", "1e24"}};
  EXPECT_EQ(run_facts_text(diverged), "The loss went from 4.3 to no number at all.");
}

TEST(LessonRun, WhatWaitsFarMoreThanPredictedDoesNotPass) {
  const Asynchrony lesson;
  const LessonRun run = lesson.run("on");
  LessonSettings facts = run_facts(open_run(stored(run, falling(4.3, 4.2, run.steps))), run);
  EXPECT_TRUE(lesson.passes(facts));
  const double predicted = std::stod(facts.at("run_predicted_bubble"));
  facts["run_bubble"] = std::to_string(predicted + 0.099);
  EXPECT_TRUE(lesson.passes(facts));
  facts["run_bubble"] = std::to_string(predicted + 0.101);
  EXPECT_FALSE(lesson.passes(facts));
}

TEST(LessonRun, NothingPassesBeforeAllUpdatesAreDone) {
  const Asynchrony lesson;
  EXPECT_FALSE(lesson.passes({}));
  const LessonRun run = lesson.run("on");
  const LessonSettings facts =
      run_facts(open_run(stored(run, falling(4.3, 4.2, run.steps - 1))), run);
  EXPECT_EQ(facts.at("ran"), "0");
  EXPECT_FALSE(lesson.passes(facts));
  EXPECT_EQ(run_facts_text(facts), "It ended after 39 updates, before all were done.");
}

TrainingReport trained(const LessonRun& run) {
  TrainingRequest request;
  request.scenario = open(run_request(run));
  request.training = run_training(run);
  request.data = run.data;
  return TrainingJob(std::move(request)).run(false, nullptr);
}

// The losses are the same bits on every machine; what is measured is not.
TEST(LessonRun, ARealRunDivergesOrNotAsTheLessonSays) {
  if (testing::sanitized()) GTEST_SKIP() << "training under sanitizers is what EveryPlan does";
  const Asynchrony lesson;
  for (const char* rewound : {"off", "on"}) {
    const LessonRun run = lesson.run(rewound);
    const LessonSettings facts = run_facts(trained(run), run);
    EXPECT_EQ(facts.at("ran"), "1");
    const double first = std::stod(facts.at("run_first_loss")),
                 last = std::stod(facts.at("run_loss"));
    EXPECT_EQ(last < first, std::string(rewound) == "on") << first << " to " << last;
    const bool as_predicted = std::abs(std::stod(facts.at("run_bubble")) -
                                       std::stod(facts.at("run_predicted_bubble"))) < 0.1;
    EXPECT_EQ(lesson.passes(facts), last < first && as_predicted);
  }
}

// As it stands no run passes, and with the solution it does.
TEST(LessonRun, ReplicasAndBatchesDoWhatTheirLessonsSay) {
  if (testing::sanitized()) GTEST_SKIP() << "training under sanitizers is what EveryPlan does";
  for (const char* name : {"adasum", "large-batches", "send-less"}) {
    SCOPED_TRACE(name);
    const LessonEngine engine(open_lesson(name));
    const std::size_t index = engine.lesson().steps.size() - 1;
    const LessonStep& step = engine.lesson().steps[index];
    for (const bool solved : {false, true}) {
      LessonSettings settings = settings_of(engine.lesson(), index);
      if (solved) settings = with_settings(std::move(settings), step.check->solution);
      const LessonRun run = filled(*step.run, settings);
      const LessonSettings facts = run_facts(trained(run), run);
      EXPECT_EQ(engine.value(step.check->passes, with_settings(settings, facts)) != 0, solved)
          << run_facts_text(facts);
    }
  }
}

TEST(LessonRun, TellsWhatReplicasExchanged) {
  const LessonSettings facts = {{"ran", "1"},
                                {"run_first_loss", "4.3"},
                                {"run_loss", "4.1"},
                                {"run_orthogonality", "0.625"},
                                {"run_energy_sent", "0.5"}};
  EXPECT_EQ(run_facts_text(facts),
            "The loss went from 4.3 to 4.1. The updates that were combined were 0.62 orthogonal. "
            "Replicas sent 50.0 % of the energy of their gradients.");
}

}  // namespace
}  // namespace trainyard
