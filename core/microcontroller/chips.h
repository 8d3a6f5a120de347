// Microcontrollers by what bounds a network on them: flash for constants and one range of RAM for
// what changes. They are no devices of a cluster (core/cluster/device.h): nothing trains on them,
// and they have neither links nor peak rates of matrices.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/units.h"

namespace trainyard {

struct Chip {
  std::string_view id;    // "stm32h743"
  std::string_view name;  // "STM32H743"
  std::string_view core;  // "Cortex-M7"
  int megahertz = 0;
  Bytes flash{};            // on the chip
  Bytes ram{};              // the largest range without a gap
  std::string_view source;  // of all figures
};

std::span<const Chip> chips();
/// Throws Error{InvalidInput} with the nearest name.
const Chip& chip(std::string_view id);

/// A ChipNeed is the memory that a network needs of a chip.
struct ChipNeed {
  Bytes flash{}, ram{};
};
inline bool fits(const ChipNeed& need, const Chip& on) {
  return need.flash <= on.flash && need.ram <= on.ram;
}
/// Returns a sentence: "fits on STM32H743 (Cortex-M7, 480 MHz): flash 718 KiB of 2.00 MiB, RAM ..."
/// or what is too much.
std::string chip_verdict(const ChipNeed&, const Chip&);

}  // namespace trainyard
