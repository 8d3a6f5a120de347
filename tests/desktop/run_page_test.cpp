// Tests accepting a run for the project's predictions and undoing that, as a user would.
#include "app/desktop/analyse/run_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/design/verdict_bar.h"
#include "app/desktop/dialogs/palette_dialog.h"
#include "core/io/documents/measured_prices.h"
#include "tests/desktop/support.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

Request local_run() {
  return {"mlp-small", "cpu:2", "", {"pp=2", "global-batch=8", "precision=fp32"}};
}

RunPage& page_of_run(Window& window) { return window.findChild<AnalysePage*>()->run(); }

void click(QWidget* widget) {
  const QPointF at = QRectF(widget->rect()).center();
  for (const QEvent::Type type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
    QMouseEvent event(type, at, widget->mapToGlobal(at), Qt::LeftButton,
                      type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton,
                      Qt::NoModifier);
    QApplication::sendEvent(widget, &event);
  }
}

bool trained(Window& window, int steps) {
  window.training().start({.request = local_run(),
                           .training = {"rate=0.05"},
                           .steps = steps,
                           .mode = RunMode::VirtualTime,
                           .data = "random",
                           .evaluate = false});
  return happens([&] { return !window.training().running() && window.settled(); });
}

TEST(RunPage, NothingIsAcceptedBeforeARun) {
  const auto window = window_with(local_run());
  window->show_tab("run");
  RunPage& page = page_of_run(*window);
  auto* button = named<QPushButton>(page, "Accept profile of the run");
  EXPECT_FALSE(button->isEnabled());
  EXPECT_TRUE(button->toolTip().startsWith("Nothing was trained here yet"));
  QAction* action = window->actions_of()["run.accept"];
  EXPECT_FALSE(action->isEnabled());
  EXPECT_EQ(action->statusTip(), button->toolTip());
  EXPECT_FALSE(PaletteDialog(window.get()).offered().contains(action->text()));
  page.accept();
  EXPECT_EQ(window->document().project().calibration, "");
}

TEST(RunPage, WithoutARunItOffersToStartOne) {
  const auto window = window_with(local_run());
  window->show_tab("run");
  RunPage& page = page_of_run(*window);
  auto* start = named<QPushButton>(page, "Start run");
  EXPECT_TRUE(start->isVisible());
  int asked = 0;
  QAction* action = window->actions_of()["run.start"];
  action->disconnect(window.get());  // the dialog would wait for an answer
  QObject::connect(action, &QAction::triggered, &page, [&asked] { ++asked; });
  click(start);
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(trained(*window, 2));
  EXPECT_FALSE(start->isVisible());
}

TEST(RunPage, WhatARunMeasuredPricesThePlanUntilItIsUndone) {
  const Folder folder;
  const auto window = window_with(local_run());
  window->runs().use(folder.place.filePath("runs.sqlite").toStdString());
  window->show_tab("run");
  const Result before = window->session().experiment()->result;
  ASSERT_TRUE(trained(*window, 6));
  RunPage& page = page_of_run(*window);
  ASSERT_NE(page.profile(), nullptr) << page.why_not().toStdString();
  auto* button = named<QPushButton>(page, "Accept profile of the run");
  ASSERT_TRUE(happens([&] { return button->isEnabled(); })) << page.why_not().toStdString();
  EXPECT_TRUE(window->actions_of()["run.accept"]->isEnabled());
  const Duration expected = page.profile()->after;

  click(button);
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const Outcome& outcome = window->session().outcome();
  EXPECT_NE(outcome.calibrated.find("in run 1 of mlp-small on cpu:2"), std::string::npos)
      << outcome.calibrated;
  const Result after = window->session().experiment()->result;
  EXPECT_NE(after.step.value, before.step.value);
  EXPECT_NEAR(to_seconds(after.step.value), to_seconds(expected), 0.1 * to_seconds(expected));
  EXPECT_FALSE(button->isEnabled());
  EXPECT_EQ(page.why_not(), "Accepted: the project's predictions go by this run.");
  const MeasuredPrices kept = open_measured_prices(window->document().project().calibration);
  EXPECT_EQ(std::get<Calibration>(kept).kernels.size(), page.profile()->calibration.kernels.size());

  window->actions_of()["edit.undo"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().outcome().calibrated, "");
  EXPECT_EQ(window->session().experiment()->result.step.value, before.step.value);
  EXPECT_TRUE(button->isEnabled());

  // The command does the same from any perspective.
  window->document().show_perspective("design");
  window->actions_of()["run.accept"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(window->session().experiment()->result.step.value, after.step.value);
  EXPECT_TRUE(page.isVisible());
}

// The next run is predicted by what this one measured.
TEST(RunPage, TheNextRunIsPredictedByTheLast) {
  const auto window = window_with(local_run());
  ASSERT_TRUE(trained(*window, 4));
  RunPage& page = page_of_run(*window);
  ASSERT_NE(page.profile(), nullptr) << page.why_not().toStdString();
  page.accept();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  const std::string word = window->document().project().calibration;
  EXPECT_NE(word.find("in a run of mlp-small on cpu:2"), std::string::npos);
  TrainingWish wish = window->training().wish();
  wish.request = request_of(window->document().project(), *window->document().plan());
  const Duration after = page.profile()->after;
  window->training().start(wish);
  EXPECT_EQ(page.profile(), nullptr);
  EXPECT_TRUE(page.why_not().startsWith("Running"));
  ASSERT_TRUE(happens([&] { return !window->training().running() && window->settled(); }));
  EXPECT_EQ(window->training().model().predicted->result.step.value, after);
  ASSERT_NE(page.profile(), nullptr);
  EXPECT_EQ(page.profile()->before, after);
}

// The waves of the run and those of the plan have one aligned peak.
TEST(RunPage, WavesThatShareADeviceHaveTheirAlignedGhost) {
  const Request sharing{
      "mlp-small",
      "cpu:1",
      "",
      {"schedule=tick-tock", "global-batch=64", "micro-batch=16", "precision=fp32"}};
  const auto window = window_with(sharing);
  window->document().show_perspective("analyse");
  window->show_tab("run");
  ASSERT_TRUE(happens([&] {
    return window->settled() && window->session().data()->wave_study() != nullptr &&
           !window->session().data()->wave_study()->offsets.empty();
  }));
  window->training().start({.request = sharing,
                            .training = {},
                            .steps = 2,
                            .mode = RunMode::VirtualTime,
                            .data = "random",
                            .evaluate = false});
  ASSERT_TRUE(happens([&] { return !window->training().running() && window->settled(); }));
  const RunModel& model = window->training().model();
  ASSERT_TRUE(model.aligned);
  EXPECT_EQ(model.aligned->peak, window->session().data()->wave_study()->offsets.front().peak);
  const QString words = window->findChild<AnalysePage*>()->current()->scene().description();
  EXPECT_TRUE(words.contains(", aligned " + q(format_bytes(model.aligned->peak))))
      << words.toStdString();
}

TEST(RunPage, FlippedBitsAreSaidAndListed) {
  const auto window = window_with(local_run());
  window->show_tab("run");
  RunPage& page = page_of_run(*window);
  auto* said = named<QLabel>(page, "Flipped bits and failed ranks of the run");
  ASSERT_TRUE(trained(*window, 2));
  EXPECT_FALSE(said->isVisible()) << "nothing flipped";
  const std::size_t rows = page.table()->rows;
  window->training().start({.request = local_run(),
                            .training = {"rate=0.05", "flip-bits=weights:1e-4"},
                            .steps = 2,
                            .mode = RunMode::VirtualTime,
                            .data = "random",
                            .evaluate = false});
  ASSERT_TRUE(happens([&] { return !window->training().running() && window->settled(); }));
  ASSERT_TRUE(window->training().report()->run.flips);
  const FlipCounts all = window->training().report()->run.flips->all();
  EXPECT_GT(all.injected, 0);
  EXPECT_TRUE(said->isVisible());
  EXPECT_TRUE(said->text().startsWith(QString("Bits: %1 flipped").arg(all.injected)))
      << said->text().toStdString();
  EXPECT_GT(page.table()->rows, rows);
}

TEST(RunPage, ARunThatFailedHasNothingToAccept) {
  const auto window = window_with(local_run());
  TrainingWish wish;
  wish.request = local_run();
  wish.request.cluster = "cpu:2,memory=100KB";
  window->training().start(wish);
  ASSERT_TRUE(happens([&] { return !window->training().running() && window->settled(); }));
  EXPECT_EQ(page_of_run(*window).profile(), nullptr);
  EXPECT_EQ(page_of_run(*window).why_not(), "The run failed, so that there is nothing to accept.");
}

}  // namespace
}  // namespace trainyard
