// Tables say how much devices compute for each watt and how much energy one operation or access
// takes: engines of a tutorial, the devices of the catalogue, energies by operation and memory
// level, and a product that is tiled for these levels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualizers/chart/table.h"

namespace trainyard {

struct EfficiencyTable {
  DataTable table;
  std::string tab;     // in a word or two, as "Devices"
  std::string source;  // where the figures are from, in a sentence
};
/// The devices come first; their items are Cell, tag the place in device_efficiencies().
std::vector<EfficiencyTable> efficiency_tables();

}  // namespace trainyard
