#include "core/lesson/lesson_text.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace trainyard {
namespace {

const std::string kHead =
    "@lesson 3 bubbles\n@title Bubbles\n@world schedule\n@settings stages=4 microbatches=4\n"
    "@knob microbatches Microbatches\n  values 4 8\n@source zb A paper\n"
    "@figure now bubble\n  unit %\n  source zb 42.9 within 1%\n@misconception wrong A belief\n";
const std::string kStep = "@step Look\nSome words\nthat go on: {now} and {=makespan * 2 units}.\n";

std::string lesson_refusal(const std::string& text) {
  return testing::refusal([&] { parse_lesson(text, "x.lesson"); });
}

TEST(LessonText, IsReadWhole) {
  const Lesson lesson = parse_lesson(
      kHead + kStep +
          "@set microbatches=8\n@free microbatches\n@show curve Bubble\n  x microbatches 4 8\n"
          "  line forward bubble: bubble\n  unit %\n  hidden\n"
          "@ask many How much?\n  answer now\n  unit %\n  range 0 100\n  within 2\n  at 8\n"
          "  choice 43 as before\n  trap 22 wrong\n  hint Think.\n@after It is {now}.\n"
          "@check Less.\n  passes bubble < 0.3\n  solution microbatches=8\n"
          "@button Eight set microbatches=8\n",
      "x.lesson");
  EXPECT_EQ(lesson.number, 3);
  EXPECT_EQ(lesson.world, LessonWorld::Schedule);
  ASSERT_EQ(lesson.steps.size(), 1u);
  const LessonStep& step = lesson.steps[0];
  ASSERT_EQ(step.prose.size(), 1u);
  EXPECT_EQ(step.prose[0].pieces[0].words, "Some words that go on: ");
  EXPECT_EQ(step.prose[0].pieces.size(), 3u);
  ASSERT_TRUE(step.question.has_value());
  EXPECT_EQ(step.question->choices[0].words, "as before");
  EXPECT_EQ(step.question->traps[0].misconception, "wrong");
  EXPECT_TRUE(step.panels[0].hidden);
  EXPECT_EQ(to_text(settings_of(lesson, 0)), "microbatches=8 stages=4");
  EXPECT_EQ(step.buttons[0].words, "Eight");
}

TEST(LessonText, RefusalsNameThePlaceAndTheNearest) {
  EXPECT_EQ(lesson_refusal(kHead + kStep + "@shwo bars\n"),
            "x.lesson:15: no directive is called \"@shwo\"; did you mean \"show\"?");
  EXPECT_NE(lesson_refusal(kHead + "@step Look\n{nwo}\n").find("did you mean \"now\""),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + kStep + "@set stage=4\n").find("did you mean \"stages\""),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + "@figure b bubbel\n").find("did you mean \"bubble\""),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + "@figure b bubble\n  unit percent\n").find("expected a unit"),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + "@figure b bubble\n  source zp 1 within 1%\n")
                .find("did you mean \"zb\""),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + kStep + "@ask a B?\n  answer now\n  within 1\n")
                .find("range LOW HIGH"),
            std::string::npos);
  EXPECT_NE(
      lesson_refusal(kHead + kStep + "@show view Timeline\n  view timeline\n").find("@world plan"),
      std::string::npos);
  EXPECT_NE(lesson_refusal(kHead).find("expected @step"), std::string::npos);
  EXPECT_NE(lesson_refusal("words\n").find("expected @step before"), std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + "@step A\n\n  unit %\n").find("right below a directive"),
            std::string::npos);
  EXPECT_NE(lesson_refusal("@lesson 1 a\x01\n").find("expected UTF-8 text"), std::string::npos);
  EXPECT_NE(lesson_refusal("").find("expected @lesson"), std::string::npos);
}

TEST(LessonText, ARunIsReadAndFilledWithTheSettings) {
  const std::string run =
      "@run Train it\n  model gpt-tiny\n  cluster cpu:2\n  set pp=2 global-batch={microbatches}\n"
      "  train rate=0.1\n  steps 7\n  data random\n";
  const Lesson lesson = parse_lesson(kHead + kStep + run +
                                         "@check Run.\n  passes ran and run_loss < run_first_loss\n"
                                         "@show run Here\n",
                                     "x.lesson");
  const LessonStep& step = lesson.steps[0];
  ASSERT_TRUE(step.run);
  EXPECT_EQ(step.run->words, "Train it");
  EXPECT_EQ(step.run->steps, 7);
  EXPECT_EQ(step.panels[0].kind, LessonPanel::Kind::Run);
  const LessonRun now = filled(*step.run, settings_of(lesson, 0));
  EXPECT_EQ(now.settings, (std::vector<std::string>{"pp=2", "global-batch=4"}));
  EXPECT_EQ(now.training, std::vector<std::string>{"rate=0.1"});
  EXPECT_THROW(filled(*step.run, {}), Error);
  EXPECT_NE(lesson_refusal(kHead + kStep +
                           "@run Train it\n  model gpt-tiny\n  cluster cpu:2\n"
                           "  set global-batch={microbatchs}\n")
                .find("did you mean \"microbatches\""),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + kStep + "@run Train it\n  cluster cpu:2\n").find("no model"),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + kStep + "@run A\n  model m\n  cluster c\n  set a={b\n")
                .find("expected KEY={SETTING}"),
            std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + kStep + run + run).find("one @run a step"), std::string::npos);
  EXPECT_NE(lesson_refusal(kHead + kStep + "@show run Here\n").find("expected @run before it"),
            std::string::npos);
}

TEST(LessonUnits, TellThreeDigits) {
  const auto told = [](double value, const char* unit) {
    return in_unit(value, lesson_unit(unit, {}));
  };
  EXPECT_EQ(told(0.17949, "%"), "17.9 %");
  EXPECT_EQ(told(31.4e9, "GB"), "31.4 GB");
  EXPECT_EQ(told(1.97, "x"), "1.97 x");
  EXPECT_EQ(told(120e9, "GB"), "120 GB");
  EXPECT_EQ(told(0.0176, ""), "0.0176");
  EXPECT_EQ(told(0, ""), "0");
  EXPECT_THROW(lesson_unit("gb", {}), Error);
}

TEST(LessonMarks, AreRightNearOrOff) {
  LessonQuestion question;
  question.within = 2;
  EXPECT_EQ(mark_answer(question, 12, 10), AnswerMark::Right);
  EXPECT_EQ(mark_answer(question, 15.9, 10), AnswerMark::Near);
  EXPECT_EQ(mark_answer(question, 17, 10), AnswerMark::Off);
}

}  // namespace
}  // namespace trainyard
