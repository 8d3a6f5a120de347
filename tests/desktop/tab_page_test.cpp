// A row of tabs cuts no name, and each of its tabs is one or two clicks away whatever the width.
#include "app/desktop/controls/tab_page.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QCoreApplication>
#include <QMenu>
#include <QTabBar>
#include <QToolButton>

namespace trainyard {
namespace {

const QStringList kTitles = {"Timeline",    "Memory",   "Waves",      "Schedules", "Communication",
                             "Utilisation", "Roofline", "Validation", "Plans"};

struct Tabs {
  TabPage page{"Tabs"};
  QTabBar* strip = page.findChild<QTabBar*>();
  QToolButton* more = page.findChild<QToolButton*>("more-tabs");

  explicit Tabs(int width) {
    for (const QString& title : kTitles) page.add(title, new Page);
    page.resize(width, 300);
    page.show();
  }
  // The tabs of the strip; each is wholly within it.
  QStringList in_strip() const {
    QStringList titles;
    QCoreApplication::processEvents();  // lays out
    for (int i = 0; i < strip->count(); ++i)
      if (strip->isTabVisible(i)) {
        EXPECT_TRUE(strip->rect().contains(strip->tabRect(i))) << strip->tabText(i).toStdString();
        titles << strip->tabText(i);
      }
    return titles;
  }
  QStringList in_menu() const {
    QStringList titles;
    Q_EMIT more->menu()->aboutToShow();
    for (const QAction* action : more->menu()->actions()) titles << action->text();
    return titles;
  }
};

TEST(TabPage, HasEveryTabInItsStripOrInItsMenu) {
  for (const int width : {2000, 900, 600, 400, 250}) {
    Tabs tabs(width);
    for (const QString& title : kTitles) {
      tabs.page.show_tab(title.toLower());
      const QStringList strip = tabs.in_strip(), menu = tabs.in_menu();
      EXPECT_TRUE(strip.contains(title)) << width;
      EXPECT_EQ(strip.size() + menu.size(), kTitles.size()) << width;
      for (const QString& one : kTitles) EXPECT_NE(strip.contains(one), menu.contains(one));
      EXPECT_EQ(tabs.more->isVisible(), !menu.isEmpty()) << width;
      EXPECT_EQ(tabs.page.tabs().size(), kTitles.size());
    }
  }
}

TEST(TabPage, ATabOfTheMenuIsShownInTheStrip) {
  Tabs tabs(400);
  EXPECT_FALSE(tabs.in_menu().isEmpty());
  QAction* last = tabs.more->menu()->actions().last();
  const QString title = last->text();
  EXPECT_FALSE(tabs.in_strip().contains(title));
  last->trigger();
  EXPECT_EQ(tabs.page.tab(), title.toLower());
  EXPECT_TRUE(tabs.in_strip().contains(title));
}

TEST(TabPage, AClosedTabIsNeitherInStripNorMenuUntilItIsReopened) {
  for (const int width : {2000, 400}) {
    Tabs tabs(width);
    tabs.page.show_tab("roofline");
    EXPECT_TRUE(tabs.page.close_tab());
    EXPECT_NE(tabs.page.tab(), "roofline");
    EXPECT_FALSE(tabs.in_strip().contains("Roofline"));
    EXPECT_FALSE(tabs.in_menu().contains("Roofline"));
    EXPECT_TRUE(tabs.page.reopen_tab());
    EXPECT_EQ(tabs.page.tab(), "roofline");
    EXPECT_FALSE(tabs.page.reopen_tab());
    for (int i = 1; i < kTitles.size(); ++i) EXPECT_TRUE(tabs.page.close_tab());
    EXPECT_FALSE(tabs.page.close_tab()) << "the last one stays";
  }
}

}  // namespace
}  // namespace trainyard
