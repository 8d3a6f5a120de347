// Tests the tab Numbers and what asks for it in the dialog of a run, as a user would use them.
#include "app/desktop/analyse/numbers_page.h"

#include <gtest/gtest.h>

#include <QCheckBox>
#include <QSpinBox>
#include <QToolButton>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/dialogs/run_dialog.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

TrainingWish watched_run(std::string precision, std::int64_t numbers) {
  TrainingWish wish;
  wish.request = {
      "mlp-small", "cpu:1", "", {"global-batch=16", "precision=" + std::move(precision)}};
  wish.steps = 12, wish.data = "random", wish.numbers = numbers;
  return wish;
}

struct NumbersTab {
  std::unique_ptr<Window> window = std::make_unique<Window>();
  NumbersPage* page;

  NumbersTab() {
    window->resize(1400, 900);
    window->show();
    window->document().show_perspective("analyse", "numbers");
    page = window->findChild<NumbersPage*>();
  }
  QString drawn() const { return page->canvas()->scene().description(); }
  void train(const TrainingWish& wish) const {
    window->training().start(wish);
    ASSERT_TRUE(happens([&] { return !window->training().running() && window->settled(); }));
    ASSERT_NE(window->training().report(), nullptr) << window->training().model().status;
  }
};

std::string cells_of(const DataTable& table) {
  std::string text;
  for (std::size_t r = 0; r < table.rows; ++r)
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      text += cell_text(table.columns[c], table.cell(r, c)) + ";";
  return text;
}

TEST(NumbersPage, DrawsWhatTheRunCounted) {
  const NumbersTab tab;
  EXPECT_TRUE(tab.drawn().startsWith("No run has watched its numbers yet"));
  EXPECT_FALSE(tab.page->picture() || tab.page->table());
  tab.train(watched_run("fp16", 4));
  const auto record = tab.window->training().report()->numbers;
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->looks().size(), 4u);  // after updates 1, 4, 8 and 12
  EXPECT_TRUE(tab.drawn().startsWith("Exponents of gradients at step"))
      << tab.drawn().toStdString();
  for (const auto& [button, words] : {std::pair{"Weights", "Exponents of weights"},
                                      {"Activations", "Exponents of activations"},
                                      {"Cancelled updates", "Updates that rounding cancels"},
                                      {"Loss scale", "Loss scale"}}) {
    named<QToolButton>(*tab.page, button)->click();
    EXPECT_TRUE(tab.drawn().startsWith(words)) << tab.drawn().toStdString();
    EXPECT_GT(tab.page->canvas()->scene().draw({800, 500}, 1).marks.size(), 10u) << button;
  }

  // A run of the command line counts the same.
  TrainingRequest request;
  request.scenario = open(watched_run("fp16", 4).request);
  request.training.steps = 12, request.data = "random", request.numbers = 4;
  const TrainingReport report = TrainingJob(std::move(request)).run(false, nullptr);
  EXPECT_EQ(cells_of(*tab.page->table()), cells_of(numbers_table(*report.numbers)));
  EXPECT_EQ(tab.page->picture()->marks.size(), numbers_picture(*report.numbers).marks.size());

  // The next run watches nothing, and hides what the last one counted.
  tab.train(watched_run("fp16", 0));
  EXPECT_TRUE(tab.drawn().startsWith("No run has watched its numbers yet"));
}

TEST(NumbersPage, ARunWithoutALossScaleSaysSo) {
  const NumbersTab tab;
  tab.train(watched_run("fp32", 6));
  tab.page->show_picture(NumbersPicture::LossScale);
  EXPECT_EQ(tab.drawn(), "The run scaled no losses.");
}

TEST(NumbersPage, AScheduleWithoutCommonUpdatesIsRefusedInASentence) {
  const NumbersTab tab;
  TrainingWish wish = watched_run("fp32", 4);
  wish.request.cluster = "cpu:2";
  wish.request.settings = {"pp=2", "schedule=pipemare", "global-batch=16", "micro-batch=8"};
  tab.window->training().start(wish);
  ASSERT_TRUE(happens([&] { return !tab.window->training().running(); }));
  EXPECT_TRUE(tab.window->training().model().failed);
  EXPECT_NE(tab.window->training().model().status.find("that updates all weights together"),
            std::string::npos)
      << tab.window->training().model().status;
}

TEST(NumbersPage, TheDialogAsksHowOftenNumbersAreWatched) {
  const Request request = watched_run("fp16", 0).request;
  RunDialog dialog(request, open(request));
  auto* every = named<QSpinBox>(dialog, "Updates between two looks at numbers");
  EXPECT_EQ(every->text(), "Never");
  EXPECT_EQ(dialog.wish().numbers, 0);
  every->setValue(20);
  EXPECT_EQ(every->text(), "Every 20 updates");
  EXPECT_EQ(dialog.wish().numbers, 20);
  // Counts are about one run.
  named<QSpinBox>(dialog, "Repeats")->setValue(3);
  EXPECT_FALSE(every->isEnabled());
  EXPECT_EQ(dialog.wish().numbers, 0);
}

}  // namespace
}  // namespace trainyard
