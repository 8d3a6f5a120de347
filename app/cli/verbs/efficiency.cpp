#include "app/cli/verbs/efficiency.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/cost/access_energy.h"
#include "core/cost/engine_efficiency.h"

namespace trainyard {
namespace {

// Three digits, and never an exponent.
std::string figure(const std::optional<double>& value) {
  constexpr double kWhole = 100;
  if (!value) return "not stated";
  return *value < kWhole ? fmt::format("{:.3g}", *value) : fmt::format("{:.0f}", *value);
}

void write_engines(Out& out) {
  line(out, "matrix products on engines of their time: {}", kEnginesSource);
  line(out, "  {:<26} {:>10} {:>14} {:>14}", "engine", "precision", "GFLOP/s a watt",
       "utilisation");
  for (const Engine& one : engines())
    line(out, "  {:<26} {:>10} {:>14} {:>14}", one.name,
         one.precision.empty() ? "not stated" : one.precision, figure(one.gflops_per_watt),
         one.utilisation ? readable_share(*one.utilisation) + (one.at_least ? " and more" : "")
                         : "not stated");
}

void write_devices(Out& out) {
  line(out,
       "\nthe catalogue's devices, whose board limit is stated: GFLOP/s a watt of it, at the share "
       "of the dense peak that products sustain");
  line(out, "  {:<20} {:>10} {:>10} {:>10} {:>12} {:>10} {:>16}", "name", "16 bit", "fp32", "fp64",
       "utilisation", "die, mm2", "GFLOP/s a mm2");
  for (const DeviceEfficiency& one : device_efficiencies())
    line(out, "  {:<20} {:>10} {:>10} {:>10} {:>12} {:>10} {:>16}", one.device->id,
         figure(one.half), figure(one.single), figure(one.precise), readable_share(one.utilisation),
         figure(one.area ? std::optional(one.area->value) : std::nullopt),
         figure(one.half_per_area));
}

void write_energies(Out& out) {
  line(out, "\nenergy of one operation, or of one access to a word, in pJ: {}", kEnergyTableSource);
  line(out, "  {:<26} {:>14} {:>12} {:>18} {:>12}", "of", "16-bit integer", "x addition",
       "64-bit precision", "x addition");
  const EnergyRow& add = energy_row(EnergyItem::Add);
  for (const EnergyRow& row : energy_table())
    line(out, "  {:<26} {:>14} {:>12} {:>18} {:>12}", row.name, to_text(row.integer16),
         figure(row.integer16 / add.integer16), to_text(row.float64),
         figure(row.float64 / add.float64));
  line(out,
       "  The slide's \"more than 500 times\" for DRAM is of double precision; in 16-bit integers "
       "it is {:.0f} times.",
       energy_row(EnergyItem::Dram).integer16 / add.integer16);
}

// Tiling for the SRAM takes traffic from DRAM; registers then take it from the SRAM.
void write_product(Out& out) {
  struct Tiling {
    std::string_view name;
    Hierarchy levels;
  };
  const Tiling tilings[] = {{"every operand from DRAM", kUntiled},
                            {"tiled for SRAM of 32 K words", kTiledForSram},
                            {"and for registers of 64 words", kTiledForRegisters}};
  constexpr std::int64_t kSide = 1024;
  line(out, "\na product of matrices of {0} x {0} in 16 bits, by these energies", kSide);
  line(out, "  {:<30} {:>12} {:>14}", "", "mJ", "DRAM's share");
  for (const Tiling& one : tilings) {
    const WorkEnergy energy = product_energy(kSide, kSide, kSide, DType::F16, one.levels);
    line(out, "  {:<30} {:>12} {:>14}", one.name, figure(1e3 * energy.total().value),
         readable_share(dram_share(energy)));
  }
}

}  // namespace

std::string efficiency_text() {
  Out out;
  write_engines(out);
  write_devices(out);
  write_energies(out);
  write_product(out);
  return out;
}

}  // namespace trainyard
