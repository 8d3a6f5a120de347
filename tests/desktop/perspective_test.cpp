#include "app/desktop/shell/perspective.h"

#include <gtest/gtest.h>

#include <QAction>
#include <algorithm>
#include <set>

#include "app/desktop/compare/gallery_page.h"
#include "app/desktop/controls/page.h"
#include "app/desktop/planner/planner_page.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

TEST(Perspectives, AreNamedOnceAndKnownToProjectFiles) {
  std::set<std::string> names, keys;
  std::set<std::string> tabs;
  for (const Perspective& p : testing::non_empty(perspectives())) {
    EXPECT_TRUE(names.insert(p.id).second) << p.id;
    EXPECT_TRUE(keys.insert(p.key).second) << p.key;
    EXPECT_NE(std::find(kPerspectiveNames.begin(), kPerspectiveNames.end(), p.id),
              kPerspectiveNames.end())
        << p.id;
    for (const char* tab : p.tabs) EXPECT_TRUE(tabs.insert(tab).second) << tab;
  }
}

// The table of perspectives lists exactly the tabs that the pages have.
TEST(Perspectives, EveryTabIsShownByItsCommand) {
  const auto window = window_with(small_plan());
  ASSERT_EQ(window->pages().size(), static_cast<qsizetype>(perspectives().size()));
  for (std::size_t i = 0; i < perspectives().size(); ++i) {
    const Perspective& p = perspectives()[i];
    Page* page = window->pages()[static_cast<qsizetype>(i)];
    EXPECT_EQ(page->tabs().size(), static_cast<qsizetype>(p.tabs.size())) << p.id;
    window->actions_of()[QString("view.") + p.id]->trigger();
    EXPECT_TRUE(page->isVisible()) << p.id;
    for (const char* tab : p.tabs) {
      EXPECT_TRUE(page->tabs().contains(tab)) << tab;
      window->actions_of()[QString("view.") + tab]->trigger();
      EXPECT_EQ(page->tab(), tab);
      EXPECT_TRUE(page->isVisible()) << tab;
      EXPECT_EQ(window->document().project().tab, tab);
    }
  }
}

TEST(Perspectives, OldNamesAreTabsNow) {
  const Folder folder;
  const std::string project = folder.file("old.trainyard", R"({"schema": "trainyard/project@1",
    "model": "llama-3-8b", "cluster": "h100-sxm:8", "plans": [{"name": "A", "settings": ["tp=2"]}],
    "perspective": "planner"})");
  Window window;
  window.show();
  window.open_file(QString::fromStdString(project));
  EXPECT_TRUE(window.findChild<PlannerPage*>()->isVisible());
  EXPECT_EQ(window.document().project().perspective, "analyse");
  window.document().show_perspective("published");
  EXPECT_TRUE(window.findChild<GalleryPage*>()->isVisible());
  ASSERT_TRUE(happens([&] { return window.settled(); }));
}

}  // namespace
}  // namespace trainyard
