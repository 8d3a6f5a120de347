// Tests the tab Synchrony as a user would use it: typing, turning pictures, measuring, stopping.
#include "app/desktop/calibrate/synchrony_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "app/desktop/calibrate/calibrate_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/tables/view_table.h"
#include "tests/desktop/page_tab.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct SynchronyTab : PageTab<SynchronyPage> {
  SynchronyTab() : PageTab("calibrate", "synchrony") {}
};

TEST(SynchronyPage, AnswersAsOneTypes) {
  const SynchronyTab tab;
  const QString before = tab.page->sentences();
  EXPECT_NE(before.indexOf("64 replicas"), -1) << before.toStdString();
  tab.type("Replicas", "512");
  EXPECT_EQ(tab.page->model().replicas.question.replicas, 512);
  EXPECT_NE(tab.page->sentences().indexOf("512 replicas"), -1);
  tab.type("Spread of a step's time", "0");
  EXPECT_NE(tab.page->sentences().indexOf("take 1 times as long"), -1)
      << tab.page->sentences().toStdString();
  // A refused number leaves the answer before, and its field says why.
  tab.type("Replicas", "1");
  EXPECT_EQ(tab.page->model().replicas.question.replicas, 512);
  EXPECT_TRUE(tab.page->picture().has_value());
  EXPECT_EQ(tab.page->table()->rows, tab.page->model().replicas.rows.size());
  tab.page->show_picture(SynchronyPicture::Staleness);
  EXPECT_NE(tab.page->sentences().indexOf("others old on average"), -1);
}

TEST(SynchronyPage, MeasuresThreadsAndStops) {
  const SynchronyTab tab;
  tab.page->show_picture(SynchronyPicture::Threads);
  EXPECT_EQ(tab.page->table(), std::nullopt) << "there is nothing to save before";
  QAction* const stop = tab.window->actions_of()["calibrate.threads-stop"];
  EXPECT_FALSE(stop->isEnabled());
  tab.type("Threads, at most", "0");
  tab.window->actions_of()["calibrate.threads"]->trigger();
  EXPECT_FALSE(tab.page->measurement().running()) << "a wrong field measures nothing";
  tab.type("Threads, at most", "2");
  tab.window->actions_of()["calibrate.threads"]->trigger();
  EXPECT_TRUE(tab.page->measurement().running());
  EXPECT_TRUE(stop->isEnabled());
  stop->trigger();
  ASSERT_TRUE(happens([&] { return tab.window->settled(); }));
  EXPECT_FALSE(stop->isEnabled());
}

}  // namespace
}  // namespace trainyard
