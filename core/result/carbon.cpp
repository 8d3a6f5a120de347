#include "core/result/carbon.h"

namespace trainyard {
namespace {

constexpr double kJoulesOfKwh = 3.6e6, kGramsOfKilogram = 1e3;

}  // namespace

Banded<Joules> site_energy(const Banded<Joules>& of_devices, const Site& site) {
  return {of_devices.value * site.overhead, of_devices.low * site.overhead,
          of_devices.high * site.overhead, of_devices.basis};
}

std::optional<Banded<double>> carbon_of(const Banded<Joules>& of_devices, const Site& site) {
  if (site.region.empty()) return std::nullopt;
  const Banded<Joules> energy = site_energy(of_devices, site);
  const double intensity = region(site.region).grams_per_kwh / kGramsOfKilogram / kJoulesOfKwh;
  return Banded<double>{energy.value.value * intensity, energy.low.value * intensity,
                        energy.high.value * intensity, site_sentence(site)};
}

}  // namespace trainyard
