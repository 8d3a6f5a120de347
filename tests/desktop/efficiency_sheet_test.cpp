// Tests the sheet that lists the efficiency of devices, as the Energy tab opens it.
#include "app/desktop/analyse/efficiency_sheet.h"

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QLabel>
#include <QTableView>

#include "app/desktop/analyse/energy_page.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/tables/view_table.h"
#include "core/cost/access_energy.h"
#include "core/cost/engine_efficiency.h"
#include "tests/desktop/page_tab.h"

namespace trainyard {
namespace {

TEST(EfficiencySheet, ListsDevicesWithThatOfThePlanEnginesAndEnergies) {
  const PageTab<EnergyPage> tab("analyse", "energy", small_plan());
  named<QPushButton>(*tab.page, "Show the efficiency of devices")->click();
  auto* sheet = tab.window->findChild<EfficiencySheet*>();
  ASSERT_NE(sheet, nullptr);
  const std::vector<DeviceEfficiency> devices = device_efficiencies();
  EXPECT_EQ(sheet->rows().table().rows, devices.size());
  const QModelIndexList rows = sheet->rows().rows()->selectionModel()->selectedRows();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(devices[static_cast<std::size_t>(rows[0].row())].device->id, "h100-sxm");
  const auto show = [&](const QString& words) {
    auto* which = named<Segment>(*sheet, "Which efficiency is listed");
    for (auto* button : which->findChildren<QAbstractButton*>())
      if (button->text() == words) button->click();
    return sheet->rows().table();
  };
  EXPECT_EQ(show("Engines").rows, engines().size());
  const DataTable energies = show("Operations");
  ASSERT_EQ(energies.rows, energy_table().size());
  EXPECT_EQ(std::get<double>(energies.cell(energies.rows - 1, 1)), 640);
  EXPECT_EQ(std::get<double>(energies.cell(energies.rows - 1, 3)), 2560);
  EXPECT_TRUE(named<QLabel>(*sheet, "Where the figures are from")->text().contains("45 nm"));
  EXPECT_EQ(show("A product").rows, 3u);
  EXPECT_TRUE(sheet->rows().rows()->selectionModel()->selectedRows().isEmpty());
  sheet->close();
}

}  // namespace
}  // namespace trainyard
