#include "app/desktop/tables/view_table.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QTableView>

#include "app/desktop/analyse/analyse_page.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

DataTable small_table() {
  return listed_table("Small", {{"name", DataUnit::Words}, {"bytes", DataUnit::ByteCount}},
                      {{std::string("a"), std::int64_t{2} << 30},
                       {std::string("b"), {}},
                       {std::string("c"), std::int64_t{1} << 30}},
                      {{ItemKind::Dot, 0}, {ItemKind::Dot, 1}, {ItemKind::Dot, 2}});
}

QString shown(const ViewTable& table, int row, int column) {
  return table.rows()->model()->index(row, column).data().toString();
}

TEST(ViewTable, SortsByFiguresWithNothingLast) {
  ViewTable table;
  table.show_table(small_table());
  EXPECT_EQ(shown(table, 0, 0), "a");
  table.rows()->sortByColumn(1, Qt::AscendingOrder);
  EXPECT_EQ(shown(table, 0, 1), "1.00 GiB");
  EXPECT_EQ(shown(table, 2, 0), "b");
  table.rows()->sortByColumn(1, Qt::DescendingOrder);
  EXPECT_EQ(shown(table, 0, 1), "2.00 GiB");
  EXPECT_EQ(shown(table, 2, 0), "b");
}

TEST(ViewTable, KeepsItsSortingForTheSameColumns) {
  ViewTable table;
  table.show_table(small_table());
  table.rows()->sortByColumn(1, Qt::AscendingOrder);
  table.show_table(small_table());
  EXPECT_EQ(shown(table, 0, 0), "c");
}

TEST(ViewTable, TellsWhatIsChosenByKeyboardAndIsQuietWhenTold) {
  ViewTable table;
  table.show_table(small_table());
  std::vector<Item> told;
  QObject::connect(&table, &ViewTable::chosen, &table,
                   [&](const Item& item) { told.push_back(item); });
  table.choose({ItemKind::Dot, 1});
  EXPECT_EQ(table.rows()->currentIndex().row(), 1);
  EXPECT_TRUE(told.empty());
  press(table.rows(), Qt::Key_Down);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], (Item{ItemKind::Dot, 2}));
}

TEST(ViewTable, EscapeClosesIt) {
  ViewTable table;
  table.show_table(small_table());
  int closed = 0;
  QObject::connect(&table, &ViewTable::closed, &table, [&] { ++closed; });
  press(table.rows(), Qt::Key_Escape);
  EXPECT_EQ(closed, 1);
}

TEST(ViewTable, CtrlTShowsTheRowsOfEachTabAndWhatIsChosenIsSelected) {
  const Folder folder;
  const auto window = window_with(
      {folder.file("config.json", kConfig), "h100-sxm:4", "", {"pp=2", "global-batch=8"}});
  window->document().show_perspective("analyse");
  window->actions_of()["view.table"]->trigger();
  auto* page = window->findChild<AnalysePage*>();
  ASSERT_NE(page, nullptr);
  ViewTable& table = page->rows();
  EXPECT_TRUE(table.isVisible());
  EXPECT_TRUE(window->actions_of()["view.table"]->isChecked());
  for (const char* tab : {"timeline", "roofline", "order", "waves", "staleness", "communication",
                          "utilisation", "mesh", "graph", "energy", "goodput"}) {
    page->show_tab(tab);
    EXPECT_GT(table.table().rows, 0u) << tab;
  }
  page->show_tab("timeline");
  table.rows()->selectRow(1);
  EXPECT_EQ(window->session().state().selected, table.table().item(1));
  press(table.rows(), Qt::Key_Escape);
  EXPECT_FALSE(table.isVisible());
  EXPECT_FALSE(window->actions_of()["view.table"]->isChecked());
}

}  // namespace
}  // namespace trainyard
