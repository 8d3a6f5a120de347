// Tests the tab Tune, driven as a user would: asking, stopping, refusing, choosing, applying.
#include "app/desktop/planner/tune_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTimer>
#include <QToolButton>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/dialogs/run_dialog.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/tuning/tune_document.h"
#include "core/methods/settings/settings.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"
#include "visualizers/tuning/tuning_view.h"

namespace trainyard {
namespace {

struct Tuned {
  std::unique_ptr<Window> window = std::make_unique<Window>();
  TunePage* page;

  explicit Tuned(const Request& request = small_plan()) {
    window->resize(1600, 1000);
    window->show();
    window->start_with(request);
    window->actions_of()["view.tune"]->trigger();
    page = &window->findChild<AnalysePage*>()->tune();
    happens([&] { return window->settled(); });
  }
  const TuneReport& report() const { return page->tuning().report(); }
  QTableView* rows() const { return named<QTableView>(*page, "Trials of the tuning"); }
  QPushButton* button(const char* name) const { return named<QPushButton>(*page, name); }
  QString said(const QString& label) const { return named<QLabel>(*page, label)->text(); }
  /// Types a word into a list and presses Enter.
  void add(const char* list, const QString& word) const {
    auto* field = named<QLineEdit>(*page, QString("Add to ") + list);
    field->setText(word);
    press(field, Qt::Key_Return);
    QApplication::processEvents();
  }
  void type(const char* name, const QString& text) const {
    auto* field = named<QLineEdit>(*page, name);
    field->selectAll();
    field->insert(text);
    Q_EMIT field->textEdited(text);
  }
  void choose(const char* name, const QString& word) const {
    auto* field = named<Field>(*page, name);
    field->setCurrentText(word);
    EXPECT_EQ(field->currentText(), word);
    Q_EMIT field->activated(field->currentIndex());
  }
  void measure() const { named<QToolButton>(*page, "Measured")->click(); }
  void tune() const {
    window->actions_of()["plan.tune"]->trigger();
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    page->canvas()->refresh();
    page->canvas()->repaint();
  }
  std::string copied() const {
    button("Copy the command line of the tuning")->click();
    return QApplication::clipboard()->text().toStdString();
  }
};

constexpr const char* kTunedSettings = "settings to try";
constexpr const char* kFamilies = "families of settings";

Request mlp() {
  return {"mlp-small", "cpu:1", "", {"global-batch=32", "micro-batch=32", "precision=fp32"}};
}

TEST(TunePage, ItsTrialsAreThoseOfTheSameQuestion) {
  const Tuned tuned;
  tuned.add(kTunedSettings, "micro-batch=1..8");
  tuned.add(kTunedSettings, "tp=1,2,4");
  tuned.add(kFamilies, "recompute=none,full");
  tuned.type("Trials, at most", "12");
  EXPECT_EQ(tuned.said("Size of the tuning"), "At most 12 trials");
  tuned.tune();
  ASSERT_EQ(tuned.report().trials.size(), 12u);
  ASSERT_TRUE(tuned.report().best);
  EXPECT_EQ(tuned.report().arms.size(), 2u);
  EXPECT_EQ(*tuned.page->document(),
            tune_document(trainyard::tune(*tuned.page->panel().request())));
  EXPECT_EQ(to_csv(*tuned.page->table()), to_csv(tuning_table(tuned.report())));
  const auto* shown = static_cast<const DataTableModel*>(tuned.rows()->model());
  EXPECT_EQ(to_csv(shown->table()), to_csv(tuning_table(tuned.report())));
  EXPECT_EQ(tuned.said("Freshness of the tuning"), "fresh");
  const TuneTrial& best = tuned.report().trials[*tuned.report().best];
  EXPECT_EQ(tuned.said("Best trial").toStdString(),
            "best " + goal_text(TuneGoal::Time, *best.value) + ", trial " +
                std::to_string(*tuned.report().best + 1) + ": " +
                trial_words(tuned.report(), best));
  EXPECT_TRUE(tuned.page->canvas()->scene().description().contains("Best: Trial"));
  tuned.type("Seed", "5");
  EXPECT_EQ(tuned.said("Freshness of the tuning"), "stale: the question changed");
}

TEST(TunePage, TheBestIsAppliedAsOneStepThatIsUndone) {
  const Tuned tuned;
  tuned.add(kTunedSettings, "micro-batch=1..4");
  tuned.add(kFamilies, "recompute=none,full");
  tuned.tune();
  ASSERT_TRUE(tuned.report().best);
  Document& document = tuned.window->document();
  const Project before = document.project();
  const int steps = document.undo_stack().count();
  tuned.button("Apply the trial to the plan")->click();
  EXPECT_EQ(document.undo_stack().count(), steps + 1);
  const TuneTrial& best = tuned.report().trials[*tuned.report().best];
  EXPECT_EQ("micro-batch=" + own_setting(*document.plan(), "micro-batch"), best.set.front());
  EXPECT_EQ("recompute=" + own_setting(*document.plan(), "recompute"),
            tuned.report().arms[best.arm].settings);
  ASSERT_TRUE(happens([&] { return tuned.window->settled(); }));
  // The figure of the trial is that of the plan which it becomes.
  EXPECT_EQ(to_seconds(tuned.window->session().experiment()->result.step.value), *best.value);
  document.undo_stack().undo();
  EXPECT_EQ(document.project().plans, before.plans);
  happens([&] { return tuned.window->settled(); });
}

TEST(TunePage, AChosenTrialIsAppliedInPlaceOfTheBest) {
  const Tuned tuned;
  tuned.add(kTunedSettings, "micro-batch=1,2,4");
  tuned.tune();
  ASSERT_EQ(tuned.report().trials.size(), 3u);
  CanvasWidget* canvas = tuned.page->canvas();
  EXPECT_EQ(tuned.button("Apply the trial to the plan")->text(), "Apply the best");
  tuned.rows()->selectRow(1);
  EXPECT_EQ(tuned.page->chosen(), 1u);
  EXPECT_EQ(tuned.button("Apply the trial to the plan")->text(), "Apply trial 2");
  // The picture's keys go through the trials, and Enter applies the one that is chosen.
  canvas->setFocus();
  press(canvas, Qt::Key_Home);
  EXPECT_EQ(tuned.page->chosen(), tuned.report().best);
  tuned.page->choose(0);
  press(canvas, Qt::Key_Left);
  EXPECT_EQ(tuned.page->chosen(), 0u) << "there is none before the first";
  press(canvas, Qt::Key_Right);
  press(canvas, Qt::Key_Right);
  press(canvas, Qt::Key_Right);
  EXPECT_EQ(tuned.page->chosen(), 2u) << "there is none after the last";
  EXPECT_EQ(tuned.rows()->selectionModel()->selectedRows().value(0).row(), 2);
  press(canvas, Qt::Key_Return);
  EXPECT_EQ("micro-batch=" + own_setting(*tuned.window->document().plan(), "micro-batch"),
            tuned.report().trials[2].set.front());
  happens([&] { return tuned.window->settled(); });
}

TEST(TunePage, AStopKeepsTheTrials) {
  const Tuned tuned;
  tuned.add(kTunedSettings, "seq=1..100000");
  tuned.type("Trials, at most", "1000000");
  auto* run = tuned.button("Start tuning");
  QObject::connect(&tuned.page->tuning(), &TuningSession::changed, run, [&] {
    if (tuned.report().trials.size() > 1 && tuned.page->tuning().running() &&
        run->accessibleName() == "Stop tuning")
      run->click();
  });
  run->click();
  EXPECT_TRUE(tuned.window->actions_of()["plan.tune-stop"]->isEnabled());
  ASSERT_TRUE(happens([&] { return tuned.window->settled(); }));
  EXPECT_GT(tuned.report().trials.size(), 1u);
  EXPECT_LT(tuned.report().trials.size(), 1000000u);
  EXPECT_TRUE(tuned.report().stopped);
  EXPECT_EQ(tuned.rows()->model()->rowCount(), static_cast<int>(tuned.report().trials.size()));
  EXPECT_EQ(tuned.said("Freshness of the tuning"), "stopped early");
  EXPECT_EQ(run->text(), "Tune again");
  EXPECT_FALSE(tuned.window->actions_of()["plan.tune-stop"]->isEnabled());
}

TEST(TunePage, AWrongWordGetsItsSentenceBesideItsField) {
  const Tuned tuned;
  const std::tuple<const char*, const char*, const char*> words[] = {
      {kTunedSettings, "micro-batch", "expected KEY=LOW..HIGH or KEY=WORD,WORD"},
      {kTunedSettings, "micro-bach=1..4", "did you mean \"micro-batch\""},
      {kTunedSettings, "micro-batch=4..1", "bounds that rise, found 4..1"},
      {kTunedSettings, "tp=1,two", "found \"two\""},
      {kTunedSettings, "tp=1,2@4", "expected a start among 1,2, found \"4\""},
      {kTunedSettings, "train.rate=0.1..1", "choose Measured first"},
      {kFamilies, "recompute=none,half", "half"},
      {kFamilies, "schedul=1f1b", "schedule"}};
  for (const auto& [list, word, sentence] : testing::non_empty(words)) {
    tuned.add(list, word);
    const std::string said = tuned.said(QString("What is wrong with ") + list).toStdString();
    EXPECT_NE(said.find(sentence), std::string::npos) << word << ": " << said;
    auto* field = named<QLineEdit>(*tuned.page, QString("Add to ") + list);
    EXPECT_EQ(field->text(), word) << "what was typed stays";
    // Nor is it forgotten where the tuning is begun over it.
    tuned.window->actions_of()["plan.tune"]->trigger();
    EXPECT_FALSE(tuned.page->tuning().running()) << word;
    field->clear();
  }
  tuned.add(kTunedSettings, "micro-batch=1,2");
  const std::tuple<const char*, const char*, const char*> numbers[] = {
      {"Trials, at most", "0", "expected a whole number from 1 to 1000000, found \"0\""},
      {"Trials, at most", "ten", "expected a whole number from 1 to 1000000, found \"ten\""},
      {"Updates per trial", "1.5", "expected a whole number from 1 to 1000000, found \"1.5\""},
      {"Cost in seconds, at most", "-1", "expected seconds, a number above 0, found \"-1\""},
      {"Cost in seconds, at most", "nan", "expected seconds, a number above 0, found \"nan\""},
      {"Seed", "-3", "expected a whole number from 0"}};
  for (const auto& [name, text, sentence] : testing::non_empty(numbers)) {
    tuned.type(name, text);
    const std::string said =
        tuned.said(QString("What is wrong with ") + QString(name).toLower()).toStdString();
    EXPECT_TRUE(said.starts_with(sentence)) << said;
    EXPECT_FALSE(tuned.button("Start tuning")->isEnabled());
    tuned.window->actions_of()["plan.tune"]->trigger();
    EXPECT_FALSE(tuned.page->tuning().running()) << text;
    tuned.type(name, "");
    EXPECT_TRUE(tuned.button("Start tuning")->isEnabled());
  }
}

TEST(TunePage, WhatTheQuestionLacksIsSaid) {
  const Tuned tuned;
  const auto why = [&] { return tuned.said("Why nothing is tuned"); };
  EXPECT_EQ(why(), "Add a setting to try, or two families of settings.");
  EXPECT_FALSE(tuned.button("Start tuning")->isEnabled());
  tuned.add(kFamilies, "recompute=full");
  EXPECT_EQ(why(), "Add a setting to try, or two families of settings.");
  tuned.add(kFamilies, "recompute=none");
  EXPECT_EQ(why(), "");
  tuned.add(kTunedSettings, "tp=1,2");
  tuned.add(kTunedSettings, "tp=4,8");
  EXPECT_EQ(why(), "tp is to be tried twice; turn one of the two off.");
  named<QToolButton>(*tuned.page, "Settings to try tp 4, 8")->click();
  EXPECT_EQ(why(), "");
  tuned.measure();
  tuned.add(kTunedSettings, "train.rate=1e-3..1");
  EXPECT_EQ(why(), "");
  named<QToolButton>(*tuned.page, "Simulated")->click();
  EXPECT_EQ(why(),
            "rate of training is only there where trials are measured; choose Measured, or turn it "
            "off.");
  tuned.measure();
  tuned.type("Devices here", "h100-sxm:8");
  EXPECT_TRUE(tuned.said("What is wrong with devices here").contains("such as cpu:1"));
  EXPECT_FALSE(tuned.button("Start tuning")->isEnabled());
}

TEST(TunePage, ATuningThatDoesNotBeginLosesNothing) {
  const Tuned tuned;
  tuned.add(kTunedSettings, "micro-batch=1,2");
  tuned.tune();
  ASSERT_EQ(tuned.report().trials.size(), 2u);
  const std::optional<std::string> before = tuned.page->document();
  tuned.window->document().set_setting("micro-batch", "0x");
  tuned.tune();
  EXPECT_EQ(tuned.page->document(), before);
  EXPECT_NE(tuned.said("Why nothing is tuned"), "");
}

TEST(TunePage, MeasuredTrialsAreTrainedTogetherAndHaveTheLossesOfTheVerb) {
  const Tuned tuned(mlp());
  tuned.measure();
  EXPECT_EQ(tuned.page->panel().request()->goal, TuneGoal::Loss);
  tuned.add(kTunedSettings, "train.rate=1e-3..1");
  tuned.choose("Data of the trials", "random");
  tuned.choose("Trials trained together", "at most 4");
  tuned.type("Updates per trial", "4");
  tuned.type("Trials, at most", "5");
  const auto asked = tuned.page->panel().request();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->base.cluster, "cpu:1");
  EXPECT_EQ(asked->fuse, 4);
  tuned.tune();
  const TuneReport& report = tuned.report();
  ASSERT_EQ(report.trials.size(), 5u);
  ASSERT_TRUE(report.fusion && report.best);
  const TuneReport alone = trainyard::tune(*asked);
  for (std::size_t i = 0; i < report.trials.size(); ++i) {
    EXPECT_EQ(report.trials[i].train, alone.trials[i].train);
    EXPECT_EQ(report.trials[i].value, alone.trials[i].value);
  }
  const QString sentence = tuned.said("Trials that were trained together");
  EXPECT_TRUE(sentence.startsWith(
      QString("%1 of 5 trials were trained together").arg(report.fusion->trials)))
      << sentence.toStdString();
  EXPECT_TRUE(sentence.contains("jobs would fit in the memory of the device."));
  // Where as many as pay are asked for, the gains of all the numbers that were priced are told.
  tuned.choose("Trials trained together", "as many as pay");
  tuned.tune();
  ASSERT_TRUE(report.fusion);
  ASSERT_FALSE(report.fusion->priced.empty());
  EXPECT_TRUE(tuned.said("Trials that were trained together")
                  .contains(QString("As predicted, %1 jobs together have")
                                .arg(report.fusion->priced.front().jobs)));
  auto* gains = named<CanvasWidget>(*tuned.page, "Gain of jobs trained together");
  EXPECT_EQ(gains->isVisible(), report.fusion->priced.size() > 1);
  EXPECT_EQ(gains->scene().description(), tuned.said("Trials that were trained together"));
  // Training is no part of a plan, so that there is nothing to apply.
  EXPECT_FALSE(tuned.button("Apply the trial to the plan")->isEnabled());
  EXPECT_FALSE(tuned.window->actions_of()["plan.tune-apply"]->isEnabled());
  const int steps = tuned.window->document().undo_stack().count();
  tuned.page->apply();
  EXPECT_EQ(tuned.window->document().undo_stack().count(), steps);
  // They are what a run begins with.
  tuned.page->choose(2);
  QString begins;
  QTimer timer;
  QObject::connect(&timer, &QTimer::timeout, [&] {
    if (auto* dialog = qobject_cast<RunDialog*>(QApplication::activeModalWidget())) {
      begins = named<QLineEdit>(*dialog, "Settings of training")->text();
      dialog->reject();
    }
  });
  timer.start(5);
  tuned.button("Train with the trial's settings of training")->click();
  EXPECT_EQ(begins.toStdString(), report.trials[2].train.front());
  EXPECT_NE(tuned.copied().find("--measure"), std::string::npos);
  EXPECT_NE(tuned.copied().find("--fuse auto"), std::string::npos);
  // Trials that are trained together have no step of their own to measure.
  tuned.choose("Minimise in the tuning", "step time");
  EXPECT_FALSE(tuned.page->panel().request()->fuse);
  EXPECT_FALSE(named<Field>(*tuned.page, "Trials trained together")->isEnabled());
}

TEST(TunePage, APlanForElsewhereIsMeasuredOnDevicesHere) {
  const Tuned tuned;
  tuned.measure();
  tuned.add(kTunedSettings, "micro-batch=1,2");
  EXPECT_EQ(tuned.page->panel().request()->base.cluster, "cpu:8");
  tuned.type("Devices here", "cpu:4");
  EXPECT_EQ(tuned.page->panel().request()->base.cluster, "cpu:4");
}

}  // namespace
}  // namespace trainyard
