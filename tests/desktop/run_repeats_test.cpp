// Tests runs that the window repeats: what the dialog asks, and what the list has afterwards.
#include <gtest/gtest.h>

#include <QAction>
#include <QCheckBox>
#include <QDialogButtonBox>
#include <QPushButton>
#include <QSpinBox>

#include <set>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/dialogs/run_dialog.h"
#include "app/desktop/shell/compare_perspective.h"
#include "app/workspace/runs/repeats.h"
#include "app/workspace/runs/run_scores.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

TrainingWish repeated_run(std::int64_t repeats, std::int64_t steps = 3) {
  TrainingWish wish;
  wish.request = {.model = "mlp-small",
                  .cluster = "cpu:1",
                  .plan = "",
                  .settings = {"global-batch=8", "precision=fp32"}};
  wish.training = {"rate=0.05"};
  wish.steps = steps, wish.data = "random";
  wish.repeats = repeats, wish.varied = {RandomSource::Order, RandomSource::Weights};
  return wish;
}

std::unique_ptr<Window> window_with_list(const QTemporaryDir& folder) {
  auto window = std::make_unique<Window>();
  window->resize(1400, 900);
  window->show();
  window->start_with(repeated_run(1).request);
  window->runs().use(folder.filePath("runs.sqlite").toStdString());
  return window;
}

TEST(RunRepeats, EachIsListedWithSeedsOfItsOwnAndOneTag) {
  const QTemporaryDir folder;
  const auto window = window_with_list(folder);
  window->training().start(repeated_run(3));
  ASSERT_TRUE(happens([&] { return window->runs().entries("tag:repeat-1").size() == 3; }))
      << window->runs().error();
  EXPECT_FALSE(window->training().running());
  EXPECT_EQ(window->runs().entries().size(), 3u);
  std::set<double> losses;
  for (std::int64_t id = 1; id <= 3; ++id) {
    const RunScore score = score_of(window->runs().get(id));
    ASSERT_TRUE(score.loss.has_value());
    losses.insert(*score.loss);
    const Training expected =
        repeat_of(training_of(repeated_run(1)), repeated_run(3).varied, id - 1);
    EXPECT_EQ(score.seeds, expected.seeds);
  }
  EXPECT_EQ(losses.size(), 3u) << "each draws its samples and weights anew";
  // Compare offers them as one result.
  compare_perspective(*window)->comparison().compare("runs:tag:repeat-1", "run:1");
  window->document().show_perspective("compare", "comparison");
  ASSERT_TRUE(happens([&] { return compare_perspective(*window)->comparison().settled(); }));
  ASSERT_NE(compare_perspective(*window)->comparison().look().result, nullptr);
}

TEST(RunRepeats, AStopEndsThemAll) {
  const QTemporaryDir folder;
  const auto window = window_with_list(folder);
  window->training().start(repeated_run(3, 1'000'000));
  ASSERT_TRUE(happens([&] { return !window->training().model().losses.empty(); }));
  EXPECT_EQ(window->training().model().status.rfind("repeat 1 of 3, ", 0), 0u);
  window->actions_of()["run.stop"]->trigger();
  ASSERT_TRUE(happens([&] { return window->runs().entries().size() == 1; }));
  QApplication::processEvents();
  EXPECT_FALSE(window->training().running());
  EXPECT_TRUE(window->runs().entries("tag:repeat-1").empty()) << "a part of a run is no repeat";
}

TEST(RunRepeats, TheDialogAsksWhatIsDrawnAnew) {
  const Request request = repeated_run(1).request;
  RunDialog dialog(request, open(request));
  EXPECT_EQ(dialog.wish().repeats, 1);
  auto* order = named<QCheckBox>(dialog, "Draw anew: order");
  EXPECT_FALSE(order->isEnabled()) << "one run is not repeated";
  named<QSpinBox>(dialog, "Repeats")->setValue(4);
  EXPECT_TRUE(order->isEnabled());
  EXPECT_FALSE(named<QCheckBox>(dialog, "Draw anew: dropout")->isEnabled()) << "mlp-small has none";
  EXPECT_FALSE(named<Field>(dialog, "Rules")->isEnabled());
  EXPECT_EQ(dialog.wish().repeats, 4);
  EXPECT_EQ(dialog.wish().varied, random_sources_of(open(request), ""));
  auto* train = dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
  for (QCheckBox* source : dialog.findChildren<QCheckBox*>())
    if (source->accessibleName().startsWith("Draw anew") && source != order)
      source->setChecked(false);
  EXPECT_EQ(dialog.wish().varied, std::vector<RandomSource>{RandomSource::Order});
  EXPECT_TRUE(train->isEnabled());
  order->setChecked(false);
  EXPECT_FALSE(train->isEnabled()) << "all repeats would be one run";
}

}  // namespace
}  // namespace trainyard
