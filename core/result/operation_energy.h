// This file computes the energy of a step by operation and memory level: every op of the plan at
// the energies of core/cost/access_energy.h, tiled for registers of 64 words and an SRAM of 32 K
// words. It counts gates and wires of 45 nm logic. What boards draw (energy.h) also has clocks,
// leakage, control and links, at today's smaller gates, so the two are shown beside each other and
// never added. A device whose memory stores numbers in fewer bits (Device::compression) moves fewer
// bytes there, at the energy of those alone; the logic that codes and decodes them is not counted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/cost/access_energy.h"

namespace trainyard {

struct Device;
struct Workload;

/// One op of the model, forward and backward together, on all devices in one step.
struct OperationEnergy {
  std::string name;  // "q_proj"; "optimizer" for all updates
  std::int64_t calls = 0;
  WorkEnergy energy;  // its levels are those of the device
};

/// Registers of 64 words, SRAM of 32 K words, DRAM; without DRAM where the device's memory is on
/// the chip.
Hierarchy operation_hierarchy(const Device&);
/// Returns all ops, most energy first; equal ones in the order of the model.
std::vector<OperationEnergy> operation_energies(const Workload&);
WorkEnergy total(std::span<const OperationEnergy>);

}  // namespace trainyard
