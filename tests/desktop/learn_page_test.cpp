// Tests the Learn perspective: a student predicts before the picture shows the answer, turns free
// knobs, undoes, and keeps answers; the project stays unchanged.
#include "app/desktop/learn/learn_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include <algorithm>
#include <cmath>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/learn/lesson_knobs.h"
#include "app/desktop/learn/lesson_question.h"
#include "core/lesson/answers.h"
#include "core/lesson/lesson_text.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

struct Shown {
  Folder folder;
  LearnPage page;
  Shown() {
    page.session().keep_in(folder.place.filePath("answers.json"));
    page.resize(1500, 900);
    page.show();
    wait();
  }
  void wait() {
    EXPECT_TRUE(happens([&] { return page.settled(); }));
  }
  void open(const char* words) {
    page.open(words);
    wait();
  }
  const LessonScreen& screen() { return page.session().screen(); }
};

TEST(LearnPage, APredictionComesBeforeThePicture) {
  Shown shown;
  shown.open("3:3");
  const auto hidden = [&] {
    return std::count_if(
        shown.screen().pictures.begin(), shown.screen().pictures.end(),
        [](const LessonPicture& p) { return p.kind == LessonPicture::Kind::Hidden; });
  };
  EXPECT_EQ(hidden(), 2);
  auto* edit = shown.page.findChild<QLineEdit*>(QString(), Qt::FindChildrenRecursively);
  for (QLineEdit* each : shown.page.findChildren<QLineEdit*>())
    if (each->accessibleName() == "Your prediction") edit = each;
  ASSERT_NE(edit, nullptr);
  edit->setText("900");
  shown.page.question().lock_in();
  EXPECT_EQ(shown.page.session().answer(), nullptr) << "out of range is told, not taken";
  shown.page.question().choose(2);
  EXPECT_EQ(edit->text(), "22");
  shown.page.question().lock_in();
  shown.wait();
  ASSERT_NE(shown.page.session().answer(), nullptr);
  EXPECT_EQ(shown.page.session().answer()->value, 22);
  EXPECT_EQ(hidden(), 0);
  ASSERT_EQ(shown.screen().pictures[0].curve.marks.size(), 2u);
  EXPECT_FALSE(shown.screen().after.isEmpty());
  shown.page.session().answer(9, "certain");
  EXPECT_EQ(shown.page.session().answer()->value, 22) << "predictions are made once";
}

TEST(LearnPage, EnterLeadsToThePredictionAndLocksItIn) {
  Shown shown;
  shown.open("3:2");
  const auto enter = [](QWidget* widget) {
    QKeyEvent press(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier, "\r");
    QApplication::sendEvent(widget, &press);
  };
  enter(&shown.page);
  auto* edit = qobject_cast<QLineEdit*>(shown.page.focusWidget());
  ASSERT_NE(edit, nullptr);
  EXPECT_EQ(edit->accessibleName(), "Your prediction");
  EXPECT_EQ(shown.page.session().answer(), nullptr);
  edit->setText("43");
  enter(edit);
  ASSERT_NE(shown.page.session().answer(), nullptr);
  EXPECT_EQ(shown.page.session().answer()->value, 43);
  shown.open("3:6");
  EXPECT_FALSE(shown.screen().passed);
  shown.page.knobs().step_free(0, 2);  // to 32 microbatches
  shown.page.knobs().step_free(1, 1);  // to 1f1b
  shown.page.knobs().step_free(2, 1);  // there is no third
  shown.wait();
  EXPECT_TRUE(shown.page.session().check());
}

TEST(LearnPage, EveryLessonIsACommand) {
  Window window;
  window.show();
  for (const Lesson& lesson : testing::non_empty(shipped_lessons())) {
    window.actions_of()[lesson_command(lesson)]->trigger();
    EXPECT_EQ(window.findChild<LearnPage*>()->session().lesson().number, lesson.number);
    EXPECT_TRUE(window.findChild<LearnPage*>()->isVisible());
  }
  EXPECT_TRUE(happens([&] { return window.settled(); }));
}

// The bars show the student's progress, not the project's plan.
TEST(LearnPage, TheWindowsBarsAreTheLessons) {
  const Folder folder;
  const auto window = window_with(small_plan());
  auto* page = window->findChild<LearnPage*>();
  page->session().keep_in(folder.place.filePath("answers.json"));
  auto* first = named<QLabel>(*window, "step time");
  auto* simulate = named<QPushButton>(*window, "Simulate");
  ASSERT_NE(first, nullptr);
  const QString step = first->text();
  EXPECT_TRUE(simulate->isVisible());
  window->show_lesson("3:3");
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  EXPECT_EQ(first->text(), "lesson <b>3</b> of 13");
  EXPECT_EQ(named<QLabel>(*window, "model FLOP utilisation")->text(), "step <b>3</b> of 6");
  EXPECT_EQ(named<QLabel>(*window, "bubble")->text(), "<b>0</b> of 3 predicted");
  EXPECT_FALSE(named<QLabel>(*window, "throughput")->isVisible());
  EXPECT_FALSE(simulate->isVisible());
  page->question().choose(2);
  page->question().lock_in();
  ASSERT_TRUE(happens([&] { return page->settled(); }));
  EXPECT_EQ(named<QLabel>(*window, "bubble")->text(), "<b>1</b> of 3 predicted");
  window->document().show_perspective("analyse");
  EXPECT_EQ(first->text(), step);
  EXPECT_TRUE(simulate->isVisible());
  EXPECT_TRUE(named<QLabel>(*window, "throughput")->isVisible());
}

TEST(LearnPage, OnlyTheFreeKnobTurnsAndUndoTakesItBack) {
  Shown shown;
  shown.open("3:1");
  shown.page.session().turn("microbatches", "8");
  EXPECT_EQ(shown.page.session().settings().at("microbatches"), "4") << "locked";
  shown.open("3:4");
  shown.page.session().turn("microbatches", "8");
  shown.page.session().turn("microbatches", "9");  // no such value
  EXPECT_EQ(shown.page.session().settings().at("microbatches"), "8");
  shown.page.session().turn("microbatches", "16");
  shown.page.session().undo();
  EXPECT_EQ(shown.page.session().settings().at("microbatches"), "8");
  shown.page.session().reset();
  EXPECT_EQ(shown.page.session().settings().at("microbatches"), "4");
  shown.page.session().undo();
  EXPECT_EQ(shown.page.session().settings().at("microbatches"), "8");
}

TEST(LearnPage, OnesOwnPlanIsChecked) {
  Shown shown;
  shown.open("3:6");
  EXPECT_FALSE(shown.page.session().check());
  shown.page.session().turn("schedule", "1f1b");
  shown.page.session().turn("microbatches", "32");
  shown.wait();
  EXPECT_TRUE(shown.page.session().check());
  EXPECT_TRUE(shown.page.session().answers().progress[0].passed);
}

// Lesson 9's last step trains for real in the window; the page waits for it without blocking.
TEST(LearnPage, ARunOfALessonIsTrainedInTheWindow) {
  Window window;
  window.resize(1600, 1000);
  window.show();
  window.show_lesson("9:7");
  auto* page = window.findChild<LearnPage*>();
  LessonSession& lesson = page->session();
  ASSERT_TRUE(happens([&] { return window.settled(); }));
  ASSERT_TRUE(lesson.current().run.has_value());
  auto* run = named<QPushButton>(*page, "Train it here");
  auto* check = named<QPushButton>(*page, "Check my plan");
  const auto said = [&](const QString& words) {
    const QList<QLabel*> labels = page->findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(),
                       [&](const QLabel* label) { return label->text().contains(words); });
  };
  // Before a run, the step says what to do.
  EXPECT_FALSE(lesson.has_run());
  check->click();
  EXPECT_FALSE(lesson.check());
  EXPECT_TRUE(said("Not trained yet: press"));
  EXPECT_EQ(lesson.live(), nullptr);

  lesson.turn("rewound", "on");
  ASSERT_TRUE(happens([&] { return window.settled(); }));
  run->click();
  EXPECT_TRUE(window.training().running());
  EXPECT_FALSE(run->isEnabled());
  EXPECT_EQ(run->toolTip(), "The run is under way.");
  EXPECT_NE(lesson.live(), nullptr);
  EXPECT_FALSE(lesson.has_run());
  ASSERT_TRUE(happens([&] { return !window.training().running() && window.settled(); }));
  EXPECT_TRUE(lesson.has_run());
  EXPECT_TRUE(said("The loss went from"));
  EXPECT_TRUE(run->isEnabled());
  const RunModel& model = window.training().model();
  EXPECT_EQ(model.losses.size(), 40u);
  EXPECT_LT(model.losses.back(), model.losses.front());
  ASSERT_TRUE(model.comparison);
  const bool as_predicted =
      std::abs(model.comparison->measured_bubble - model.comparison->predicted_bubble) < 0.1;
  EXPECT_EQ(lesson.check(), as_predicted);
  const std::optional<Drawing> picture = page->picture();
  ASSERT_TRUE(picture.has_value());
  EXPECT_TRUE(page->canvases().front()->scene().description().contains("trained for 40 updates"));

  // With another knob value the measured run no longer applies.
  lesson.turn("rewound", "off");
  ASSERT_TRUE(happens([&] { return window.settled(); }));
  EXPECT_FALSE(lesson.has_run());
  EXPECT_FALSE(lesson.check());
  EXPECT_EQ(lesson.live(), nullptr);
  lesson.turn("rewound", "on");
  ASSERT_TRUE(happens([&] { return window.settled(); }));
  EXPECT_TRUE(lesson.has_run());
  EXPECT_FALSE(window.document().modified());
}

TEST(LearnPage, WithoutSomethingThatTrainsTheStepSaysSo) {
  Shown shown;
  shown.open("9:7");
  EXPECT_FALSE(named<QPushButton>(shown.page, "Train it here")->isEnabled());
  EXPECT_EQ(shown.page.session().run_words(), "There is nothing here that trains.");
  shown.page.session().run();
  EXPECT_FALSE(shown.page.session().has_run());
}

TEST(LearnPage, AnswersAreKeptAndAClassIsShownAfterReveal) {
  Shown shown;
  shown.open("10:2");
  shown.page.session().answer(5, "guess");
  shown.wait();
  const QString path = shown.page.session().path();
  {
    LearnPage again;
    again.session().keep_in(path);
    EXPECT_EQ(again.session().answers(), shown.page.session().answers());
  }
  shown.page.session().save_as(shown.folder.place.filePath("class/ada.json").replace("class/", ""),
                               "Ada");
  shown.page.session().read_class_of(shown.folder.place.path());
  ASSERT_TRUE(shown.page.session().histogram().has_value());
  EXPECT_EQ(shown.page.session().histogram()->answered, 2);
  shown.page.next();
  shown.wait();
  EXPECT_FALSE(shown.page.session().histogram().has_value()) << "not before one's own answer";
}

TEST(LearnPage, EveryStepOpensAndEveryControlHasAName) {
  Shown shown;
  for (const QWidget* each : testing::non_empty(shown.page.findChildren<QWidget*>()))
    if (each->focusPolicy() != Qt::NoFocus && each->isEnabled() && !each->inherits("QScrollBar") &&
        !each->inherits("QComboBoxListView") &&
        !each->parentWidget()->inherits("trainyard::Stepper")) {
      EXPECT_FALSE(each->accessibleName().isEmpty()) << each->metaObject()->className();
    }
  // Lessons with simulated plans are left out, because they have a test of their own.
  for (const int lesson : {3, 5, 6, 10})
    for (std::size_t step = 0;
         step < shipped_lessons()[static_cast<std::size_t>(lesson - 1)].steps.size(); ++step) {
      shown.open(QString("%1:%2").arg(lesson).arg(step + 1).toUtf8().constData());
      EXPECT_TRUE(shown.screen().wrong.isEmpty()) << shown.screen().wrong.toStdString();
    }
  shown.page.set_projector(true);
  shown.page.resize(1280, 700);
  EXPECT_THROW(shown.page.open("3:77"), Error);
  EXPECT_THROW(shown.page.open("bubles"), Error);
}

TEST(LearnPage, TheProjectIsUntouched) {
  Window window;
  const Project before = window.document().project();
  window.show_lesson("3:4");
  window.findChild<LearnPage*>()->session().turn("microbatches", "8");
  EXPECT_TRUE(happens([&] { return window.settled(); }));
  Project after = window.document().project();
  EXPECT_EQ(after.perspective, "learn");
  after.perspective = before.perspective;
  after.tab = before.tab;
  EXPECT_EQ(after, before);
  EXPECT_FALSE(window.document().modified());
}

}  // namespace
}  // namespace trainyard
