// Rules in the window: what fires on the plan's timeline and on a run is among the problems and
// leads to its place; the run's dialog has the switch.
#include <gtest/gtest.h>

#include <QTreeWidget>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/dialogs/run_dialog.h"
#include "app/desktop/shell/window.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

std::vector<QTreeWidgetItem*> problems_of(Window& window, const QString& where) {
  std::vector<QTreeWidgetItem*> found;
  QTreeWidget* table = named<QTreeWidget>(window, "Problems");
  for (int i = 0; i < table->topLevelItemCount(); ++i)
    if (table->topLevelItem(i)->text(1) == where) found.push_back(table->topLevelItem(i));
  return found;
}

TEST(Rules, WhatFiresOnTheTimelineIsAProblemThatLeadsThere) {
  Request idle;
  idle.model = "llama-3-8b", idle.cluster = "h100-sxm:32";
  idle.settings = {"tp=8", "pp=4", "global-batch=2"};
  const auto window = window_with(idle);
  ASSERT_TRUE(happens([&] { return !problems_of(*window, "low-gpu-utilization").empty(); }));
  QTreeWidgetItem* item = problems_of(*window, "low-gpu-utilization").front();
  EXPECT_TRUE(item->text(0).contains("computes or communicates"));
  EXPECT_TRUE(item->text(2).startsWith("Try more microbatches"));
  window->document().show_perspective("analyse");
  Q_EMIT item->treeWidget()->itemActivated(item, 0);
  EXPECT_EQ(window->document().project().tab, "timeline");
}

TEST(Rules, WhatFiresOnARunIsAProblemToo) {
  const auto window = window_with(small_plan());
  TrainingWish wish;
  wish.request = {.model = "mlp-small",
                  .cluster = "cpu:2",
                  .plan = "",
                  .settings = {"pp=2", "global-batch=8", "precision=fp32", "optimizer=sgd"}};
  wish.training = {"rate=0.000000001"};
  wish.data = "random";
  wish.rules = true;
  window->training().start(wish);
  ASSERT_TRUE(happens([&] { return !window->training().running(); }));
  ASSERT_TRUE(window->training().report()->rules.has_value());
  EXPECT_FALSE(problems_of(*window, "run: loss-not-decreasing").empty());
}

TEST(Rules, TheDialogOfARunAsksForThem) {
  Request request = small_plan();
  RunDialog dialog(request, open(request));
  EXPECT_FALSE(dialog.wish().rules);
  named<Field>(dialog, "Rules")->setCurrentIndex(2);
  EXPECT_TRUE(dialog.wish().rules);
  EXPECT_TRUE(dialog.wish().stops_on_rule);
}

}  // namespace
}  // namespace trainyard
