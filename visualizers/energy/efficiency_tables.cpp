#include "visualizers/energy/efficiency_tables.h"

#include <optional>
#include <string_view>

#include "core/cost/access_energy.h"
#include "core/cost/engine_efficiency.h"

namespace trainyard {
namespace {

DataCell known(const std::optional<double>& value) { return value ? DataCell(*value) : DataCell(); }

DataTable devices_table() {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const DeviceEfficiency& one : device_efficiencies()) {
    items.push_back({ItemKind::Cell, rows.size()});
    rows.push_back({one.device->name, one.device->id, known(one.half), known(one.single),
                    known(one.precise), one.utilisation,
                    one.area ? DataCell(one.area->value) : DataCell(), known(one.half_per_area)});
  }
  return listed_table("Devices by GFLOP/s of a watt",
                      {{"device", DataUnit::Words},
                       {"id", DataUnit::Words},
                       {"16 bit", DataUnit::Rate},
                       {"fp32", DataUnit::Rate},
                       {"fp64", DataUnit::Rate},
                       {"utilisation", DataUnit::Share},
                       {"die, mm\u00B2", DataUnit::Number},
                       {"GFLOP/s of a mm\u00B2 in 16 bit", DataUnit::Rate}},
                      std::move(rows), std::move(items));
}

DataTable engines_table() {
  std::vector<std::vector<DataCell>> rows;
  for (const Engine& one : engines())
    rows.push_back({std::string(one.name),
                    one.precision.empty() ? DataCell() : DataCell(std::string(one.precision)),
                    one.gflops_per_watt, known(one.utilisation),
                    one.at_least ? DataCell("at least") : DataCell()});
  return listed_table("Engines for matrix products",
                      {{"engine", DataUnit::Words},
                       {"precision", DataUnit::Words},
                       {"GFLOP/s of a watt", DataUnit::Rate},
                       {"utilisation", DataUnit::Share},
                       {"which is", DataUnit::Words}},
                      std::move(rows));
}

DataTable energies_table() {
  const EnergyRow& add = energy_row(EnergyItem::Add);
  std::vector<std::vector<DataCell>> rows;
  for (const EnergyRow& row : energy_table())
    rows.push_back({std::string(row.name), row.integer16, row.integer16 / add.integer16,
                    row.float64, row.float64 / add.float64});
  return listed_table("Energy of an operation or an access to a word",
                      {{"of", DataUnit::Words},
                       {"16-bit integer, pJ", DataUnit::Rate},
                       {"times an addition", DataUnit::Rate},
                       {"64-bit precision, pJ", DataUnit::Rate},
                       {"times its addition", DataUnit::Rate}},
                      std::move(rows));
}

DataTable tilings_table() {
  std::vector<std::vector<DataCell>> rows;
  for (const Tiling& one : tilings()) {
    const WorkEnergy energy =
        product_energy(kTiledSide, kTiledSide, kTiledSide, DType::F16, one.levels);
    rows.push_back({std::string(one.name), energy.total().value, dram_share(energy)});
  }
  return listed_table("A product of two matrices in 16 bits",
                      {{"tiling", DataUnit::Words},
                       {"energy", DataUnit::Energy},
                       {"share of DRAM", DataUnit::Share}},
                      std::move(rows));
}

}  // namespace

std::vector<EfficiencyTable> efficiency_tables() {
  const std::string side = std::to_string(kTiledSide);
  return {{devices_table(), "Devices",
           "Products at the share of the dense peak that they sustain, for each watt of the board "
           "limit; devices whose limit is not stated are left out."},
          {engines_table(), "Engines", "From a " + std::string(kEnginesSource) + "."},
          {energies_table(), "Operations", "From a " + std::string(kEnergyTableSource) + "."},
          {tilings_table(), "A product",
           "Matrices of " + side + " \u00D7 " + side +
               ", by the energies of operations and accesses: tiling for the SRAM takes traffic "
               "from DRAM, and registers take it from the SRAM."}};
}

}  // namespace trainyard
