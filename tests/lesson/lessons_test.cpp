// Every number of every shipped lesson, recomputed and held against its source.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/workspace/lessons/lesson_panels.h"
#include "app/workspace/lessons/lesson_run.h"
#include "core/lesson/lesson_text.h"
#include "tests/support/non_empty.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

class ShippedLesson : public ::testing::TestWithParam<int> {
 protected:
  const Lesson& lesson() const {
    return shipped_lessons().at(static_cast<std::size_t>(GetParam() - 1));
  }
};

TEST_P(ShippedLesson, EveryNumberIsThatOfItsSource) {
  const LessonEngine engine(lesson());
  int sourced = 0;
  for (const ComputedFigure& each : testing::non_empty(engine.figures())) {
    EXPECT_TRUE(std::isfinite(each.value)) << each.figure->name;
    for (const ComputedFigure::Against& against : each.against) {
      ++sourced;
      EXPECT_TRUE(against.holds) << each.figure->name << " is " << each.value << ", "
                                 << against.claim->source << " says " << against.claim->value;
    }
  }
  EXPECT_GE(sourced, 3);
}

TEST_P(ShippedLesson, EveryQuestionCanBeAnsweredAndEveryTaskSolved) {
  const LessonEngine engine(lesson());
  int questions = 0, tasks = 0;
  for (std::size_t i = 0; i < lesson().steps.size(); ++i) {
    const LessonStep& step = lesson().steps[i];
    const LessonSettings settings = settings_of(lesson(), i);
    for (const LessonText& text : step.prose) EXPECT_FALSE(engine.text(text, settings).empty());
    for (const LessonText& text : step.after) EXPECT_FALSE(engine.text(text, settings).empty());
    if (step.question) {
      ++questions;
      const double truth = engine.truth(i);
      EXPECT_GE(truth, step.question->low) << step.question->id;
      EXPECT_LE(truth, step.question->high) << step.question->id;
      for (const LessonQuestion::Trap& trap : step.question->traps)
        EXPECT_NE(mark_answer(*step.question, trap.value, truth), AnswerMark::Right)
            << step.question->id << " traps who answers right";
    }
    if (!step.check) continue;
    ++tasks;
    EXPECT_EQ(engine.value(step.check->passes, settings), 0) << "done before it is begun";
    if (step.run) {
      // The measurement is tested where it is run; here only that it can be run.
      const LessonRun run = filled(*step.run, with_settings(settings, step.check->solution));
      EXPECT_NE(run, filled(*step.run, settings)) << "the solution is another run";
      const Scenario scenario = open(run_request(run));
      EXPECT_TRUE(check(scenario).empty());
      EXPECT_EQ(run_training(run).steps, run.steps);
      continue;
    }
    EXPECT_NE(engine.value(step.check->passes, with_settings(settings, step.check->solution)), 0);
  }
  EXPECT_GE(questions, 3);
  EXPECT_EQ(tasks, 1);
}

// Predictions stand where they were asked for, beside the truth, in the panel's own unit.
TEST_P(ShippedLesson, MarksStandOnOnePanelInItsUnit) {
  const LessonEngine engine(lesson());
  for (std::size_t i = 0; i < lesson().steps.size(); ++i) {
    const LessonStep& step = lesson().steps[i];
    if (!step.question) continue;
    const bool views =
        std::any_of(step.panels.begin(), step.panels.end(),
                    [](const LessonPanel& p) { return p.kind == LessonPanel::Kind::View; });
    LessonLook look;
    look.step = i;
    look.settings = settings_of(lesson(), i);
    look.answer = step.question->low;
    std::size_t marks = 0;
    const auto count = [&] {
      marks = 0;
      for (const LessonPicture& each : lesson_pictures(engine, look)) {
        EXPECT_NE(each.kind, LessonPicture::Kind::Failed) << step.title << ": " << each.words;
        if (each.kind == LessonPicture::Kind::Bars) {
          marks += each.bars.marks.size();
          if (!each.bars.marks.empty()) {
            EXPECT_EQ(each.bars.unit, step.question->unit.name);
          }
        }
        if (each.kind == LessonPicture::Kind::Curve) {
          marks += each.curve.marks.size();
          if (!each.curve.marks.empty()) {
            EXPECT_EQ(each.curve.unit, step.question->unit.name);
          }
        }
      }
    };
    if (!views) {
      count();
      EXPECT_EQ(marks, 0u) << "a prediction is not marked before it is made";
    }
    look.revealed = true;
    count();
    EXPECT_TRUE(marks == 0 || marks == 2) << step.title;
  }
}

std::string lesson_name(const ::testing::TestParamInfo<int>& info) {
  return "Number" + std::to_string(info.param);
}
INSTANTIATE_TEST_SUITE_P(Lessons, ShippedLesson, ::testing::Range(1, 14), lesson_name);

TEST(ShippedLessons, AreTheFilesInTheirFolder) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/assets/lessons")) {
    ++files;
    const Lesson lesson = read_lesson(entry.path().string());
    EXPECT_EQ(open_lesson(std::to_string(lesson.number)).name, lesson.name);
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                            [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
        << entry.path() << ": compilers read these as source";
  }
  EXPECT_EQ(files, shipped_lessons().size());
  EXPECT_EQ(open_lesson("bubbles").number, 3);
  EXPECT_THROW(open_lesson("bubles"), Error);
}

// The two wrong numbers that were found in teaching material.
TEST(ShippedLessons, RefuteWhatIsPublishedWrong) {
  int refuted = 0;
  for (const int number : {3, 5}) {
    LessonEngine engine(shipped_lessons()[static_cast<std::size_t>(number - 1)]);
    for (const ComputedFigure& each : engine.figures())
      for (const ComputedFigure::Against& against : each.against)
        if (against.claim->refuted) {
          ++refuted;
          EXPECT_GT(std::abs(against.deviation), 0.05) << each.figure->name;
        }
  }
  EXPECT_EQ(refuted, 2);
}

}  // namespace
}  // namespace trainyard
