// This file compares devices by what they compute for each joule: the engines for matrix products
// that a tutorial on accelerators tabulates, all scaled to 45 nm, and the devices of the catalogue
// at the products that they sustain.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/device.h"

namespace trainyard {

/// A row of the tutorial. GFLOP/s of a watt are those of matrix products as they were reached.
struct Engine {
  std::string_view name;       // "GTX 480"
  std::string_view precision;  // "single", "double"; empty = not stated
  double gflops_per_watt = 0;
  std::optional<double> utilisation = {};  // share of its peak that products reach
  bool at_least = false;                   // the utilisation is a lower bound: "90 % and more"
};
std::span<const Engine> engines();
extern const std::string_view kEnginesSource;

/// A DeviceEfficiency says what a device of the catalogue computes for each watt of its board
/// limit. GFLOP/s of a watt and of a square millimetre are those of products at the share of the
/// dense peak that they sustain.
struct DeviceEfficiency {
  const Device* device = nullptr;               // of the catalogue
  std::optional<double> half, single, precise;  // in 16 bit, fp32 and fp64; empty = no such peak
  double utilisation = 0;
  std::optional<Sourced<double>> area;  // of its dies, in square millimetres
  std::optional<double> half_per_area;  // GFLOP/s of a square millimetre in 16 bit
};
/// All devices whose board limit is stated, in the order of the catalogue.
std::vector<DeviceEfficiency> device_efficiencies();
DeviceEfficiency device_efficiency(const Device&);

}  // namespace trainyard
