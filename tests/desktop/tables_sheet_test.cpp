// Tests the sheet of tables as tensor trains, as the menu opens it: its rows follow what is shown,
// and the best rank is set with one click.
#include "app/desktop/design/tables_sheet.h"

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAction>
#include <QLabel>
#include <QPushButton>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/session/document.h"
#include "app/desktop/tables/view_table.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

TablesSheet* opened_tables(Window& window) {
  window.actions_of()["model.tables"]->trigger();
  return window.findChild<TablesSheet*>();
}

TEST(TablesSheet, ShowsWhatRanksDoAndSetsTheBest) {
  const auto window = window_with({"recommender:tables=2,rows=20000,width=16,bottom=8,top=8",
                                   "cpu:1",
                                   "",
                                   {"global-batch=64"}});
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  TablesSheet* const sheet = opened_tables(*window);
  ASSERT_NE(sheet, nullptr);
  ASSERT_TRUE(happens([&] { return sheet->study() != nullptr; }));
  ASSERT_TRUE(sheet->study()->best);
  const std::string wanted = std::to_string(*sheet->study()->best);
  EXPECT_EQ(sheet->rows().table().rows, sheet->study()->ranks.size());
  auto* which = named<Segment>(*sheet, "What is shown of the tables");
  for (auto* button : which->findChildren<QAbstractButton*>())
    if (button->text() == "Tables") button->click();
  EXPECT_EQ(sheet->rows().table().rows, 2u);
  named<QPushButton>(*sheet, "Set the best rank")->click();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  EXPECT_EQ(own_setting(*window->document().plan(), "tt-rank"), wanted);
}

TEST(TablesSheet, SaysWhyAModelHasNone) {
  const auto window = window_with({"mlp-small", "cpu:1", "", {"global-batch=64"}});
  TablesSheet* const sheet = opened_tables(*window);
  ASSERT_NE(sheet, nullptr);
  auto* said = named<QLabel>(*sheet, "What follows from the tables");
  EXPECT_TRUE(happens([&] { return said->text().contains("has no table of its own"); }))
      << said->text().toStdString();
  EXPECT_FALSE(named<QPushButton>(*sheet, "Set the best rank")->isEnabled());
  sheet->close();
}

}  // namespace
}  // namespace trainyard
