#include "app/cli/verbs/efficiency.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/cost/access_energy.h"
#include "core/cost/engine_efficiency.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

WorkEnergy product_in(const Tiling& tiling) {
  return product_energy(kTiledSide, kTiledSide, kTiledSide, DType::F16, tiling.levels);
}

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
  line(out, "\na product of matrices of {0} x {0} in 16 bits, by these energies", kTiledSide);
  line(out, "  {:<30} {:>12} {:>14}", "", "mJ", "DRAM's share");
  for (const Tiling& one : tilings()) {
    const WorkEnergy energy = product_in(one);
    line(out, "  {:<30} {:>12} {:>14}", one.name, figure(1e3 * energy.total().value),
         readable_share(dram_share(energy)));
  }
}

// All there is; the lists are those of the core.
struct Efficiencies {
  std::vector<Engine> engines;
  std::vector<DeviceEfficiency> devices;
  std::vector<EnergyRow> energies;
  std::vector<Tiling> tilings;
};

Fields<Engine> engine_fields() {
  return {{"name", &Engine::name},
          {"precision", &Engine::precision, kWhereSet},
          {"gflops_per_watt", &Engine::gflops_per_watt},
          {"utilisation", &Engine::utilisation, number(kShare), "of its peak"},
          {"at_least", &Engine::at_least, kWhereSet, "the utilisation is a lower bound"}};
}

Fields<DeviceEfficiency> device_efficiency_fields() {
  using D = DeviceEfficiency;
  return {
      {"device", [](const D& d) { return d.device->id; }},
      {"gflops_per_watt_16_bit", &D::half, "absent: it has no such peak"},
      {"gflops_per_watt_fp32", &D::single},
      {"gflops_per_watt_fp64", &D::precise},
      {"utilisation", &D::utilisation, number(kShare), "of the dense peak, which products sustain"},
      {"die_mm2",
       [](const D& d) { return d.area ? std::optional(d.area->value) : std::optional<double>(); }},
      {"die_source", [](const D& d) { return d.area ? d.area->source : std::string(); }, kWhereSet},
      {"gflops_per_mm2_16_bit", &D::half_per_area}};
}

Fields<EnergyRow> energy_row_fields() {
  return {{"of", &EnergyRow::name, "an operation, or an access to a word of this memory"},
          {"words", &EnergyRow::words, kWhereSet, "that the memory holds"},
          {"picojoules_of_16_bit_integer", &EnergyRow::integer16},
          {"picojoules_of_64_bit_precision", &EnergyRow::float64}};
}

Fields<Tiling> tiling_fields() {
  return {
      {"tiling", &Tiling::name},
      {"joules", [](const Tiling& t) { return product_in(t).total().value; }},
      {"dram_share", [](const Tiling& t) { return dram_share(product_in(t)); }, number(kShare)}};
}

Fields<Efficiencies> efficiency_fields() {
  using E = Efficiencies;
  const auto sentence = [](std::string_view words) {
    return [words](const E&) { return std::string(words); };
  };
  return document_fields<E>(
      "trainyard/efficiency",
      {{"engines_source", sentence(kEnginesSource)},
       {"engines", &E::engines, list_of(object(engine_fields()))},
       {"devices", &E::devices, list_of(object(device_efficiency_fields())),
        "of the catalogue, whose board limit is stated; at the share of the dense peak that "
        "products sustain"},
       {"energies_source", sentence(kEnergyTableSource)},
       {"energies", &E::energies, list_of(object(energy_row_fields()))},
       {"product_side", [](const E&) { return kTiledSide; }, whole(1),
        "of the square matrices in 16 bits whose product is tiled"},
       {"product", &E::tilings, list_of(object(tiling_fields()))}});
}

template <class T>
std::vector<T> listed(std::span<const T> all) {
  return {all.begin(), all.end()};
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

Json efficiency_schema() { return efficiency_fields().schema(); }

std::string efficiency_document() {
  return write_json(efficiency_fields().write(
      {listed(engines()), device_efficiencies(), listed(energy_table()), listed(tilings())}));
}

}  // namespace trainyard
