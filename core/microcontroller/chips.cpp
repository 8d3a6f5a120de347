#include "core/microcontroller/chips.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr std::array kChips = {
    Chip{"stm32h743", "STM32H743", "Cortex-M7", 480, 2_MiB, 512_KiB,
         "STM32H743xI datasheet (DS12110), flash of the largest version; RAM is the AXI SRAM of a "
         "total of 1 MiB"},
    Chip{"stm32f746", "STM32F746", "Cortex-M7", 216, 1_MiB, 320_KiB,
         "STM32F746xG datasheet (DS10916) and manual RM0385; RAM is 64 KiB DTCM, 240 KiB SRAM1 and "
         "16 KiB SRAM2, one behind the other"},
    Chip{"nrf52840", "nRF52840", "Cortex-M4", 64, 1_MiB, 256_KiB,
         "nRF52840 product specification, recalled"}};

std::string of_capacity(std::string_view what, Bytes need, Bytes capacity) {
  const std::string sentence = fmt::format("{} {} of {}", what, readable(need), readable(capacity));
  return need <= capacity ? sentence
                          : sentence + fmt::format(", {} too much", readable(need - capacity));
}

}  // namespace

std::span<const Chip> chips() { return kChips; }

const Chip& chip(std::string_view id) {
  std::vector<std::string_view> names;
  for (const Chip& one : kChips) {
    if (one.id == id) return one;
    names.push_back(one.id);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {}, found \"{}\"{}", fmt::join(names, ", "), id.substr(0, 80),
                          did_you_mean(id.substr(0, 80), names)),
              {"--chip"});
}

std::string chip_verdict(const ChipNeed& need, const Chip& on) {
  return fmt::format("{} on {} ({}, {} MHz): {}; {}", fits(need, on) ? "fits" : "does not fit",
                     on.name, on.core, on.megahertz, of_capacity("flash", need.flash, on.flash),
                     of_capacity("RAM", need.ram, on.ram));
}

}  // namespace trainyard
