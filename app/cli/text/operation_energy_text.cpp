#include "app/cli/text/operation_energy_text.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr std::size_t kShown = 16;  // operations; the rest is one row

void write_row(Out& out, const std::string& name, const WorkEnergy& energy, double whole) {
  std::string cells;
  for (const LevelEnergy& level : energy.levels)
    cells += fmt::format(" {:>12.3g}", level.energy.value);
  const double total = energy.total().value;
  line(out, "  {:<28} {:>12.3g} {:>8} {:>12.3g}{}", name.substr(0, 28), total,
       readable_share(whole > 0 ? total / whole : 0), energy.arithmetic.value, cells);
}

}  // namespace

std::string operation_energy_text(const Result& r) {
  Out out;
  if (r.operations.empty()) return out;
  const WorkEnergy all = total(r.operations);
  line(out, "\nenergy by operation, in joules a step on all devices, of gates and wires at 45 nm");
  std::string names;
  for (const LevelEnergy& level : all.levels)
    names += fmt::format(" {:>12}", energy_row(level.level).heading);
  line(out, "  {:<28} {:>12} {:>8} {:>12}{}", "operation", "joules", "share", "arithmetic", names);
  WorkEnergy rest;
  for (std::size_t i = 0; i < r.operations.size(); ++i)
    if (i < kShown)
      write_row(out, r.operations[i].name, r.operations[i].energy, all.total().value);
    else
      rest += r.operations[i].energy;
  if (r.operations.size() > kShown)
    write_row(out, fmt::format("{} more", r.operations.size() - kShown), rest, all.total().value);
  write_row(out, "all", all, all.total().value);
  line(out, "  DRAM takes {} of it. From a {}.", readable_share(dram_share(all)),
       kEnergyTableSource);
  if (r.energy)
    line(out,
         "  Boards draw {:.3g} J for the same step, with clocks, leakage, control and waiting, at "
         "smaller gates.",
         r.energy->value.value);
  return out;
}

}  // namespace trainyard
