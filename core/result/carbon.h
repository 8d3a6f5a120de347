// This file turns energy into carbon: what the devices take, times the overhead of the building,
// times the carbon intensity of the electricity of the cluster's region. It is the only definition
// of carbon; results, tables and views use it.
#pragma once

#include <optional>

#include "core/base/banded.h"
#include "core/base/units.h"
#include "core/cluster/site.h"

namespace trainyard {

/// Returns what the whole centre takes while its devices take `of_devices`.
Banded<Joules> site_energy(const Banded<Joules>& of_devices, const Site&);
/// Returns kilograms of CO2 equivalents of that; empty where the site has no region. The range is
/// that of the energy: a year's mean of a region has none of its own.
std::optional<Banded<double>> carbon_of(const Banded<Joules>& of_devices, const Site&);

}  // namespace trainyard
