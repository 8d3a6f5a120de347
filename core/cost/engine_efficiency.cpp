#include "core/cost/engine_efficiency.h"

namespace trainyard {
namespace {

constexpr Engine kEngines[] = {
    {"Intel i7-960", "single", 1.2, 0.95},
    {"Stratix IV", "double", 2, 0.9, true},
    {"GTX 480", "double", 2.6},
    {"Cell", "", 5, 0.88},
    {"GTX 480", "single", 5.2, 0.7},
    {"ClearSpeed", "", 12.5, 0.78},
    {"Linear Algebra Processor", "double", 25, 0.9, true},
    {"Linear Algebra Processor", "single", 55, 0.9, true},
};

struct Die {
  std::string_view prefix;  // of the ids of devices that have it
  double area = 0;          // square millimetres
  const char* source = "";
};
constexpr Die kDies[] = {
    {"v100", 815, "Volta whitepaper, recalled"},  {"a100", 826, "Ampere whitepaper, recalled"},
    {"a800", 826, "Ampere whitepaper, recalled"}, {"h100", 814, "Hopper whitepaper, recalled"},
    {"h200", 814, "Hopper whitepaper, recalled"}, {"h800", 814, "Hopper whitepaper, recalled"},
};

constexpr double kGiga = 1e9;

}  // namespace

const std::string_view kEnginesSource =
    "tutorial on accelerators for machine learning, matrix products, scaled to 45 nm";

std::span<const Engine> engines() { return kEngines; }

DeviceEfficiency device_efficiency(const Device& device) {
  DeviceEfficiency found;
  found.device = &device;
  found.utilisation = device.efficiency.product.value;
  const double watts = device.power.value.value;
  const auto sustained = [&](DType type) -> std::optional<double> {
    if (!supports(device, type)) return std::nullopt;
    return peak(device, type).value * found.utilisation / kGiga;
  };
  const auto for_watt = [&](std::optional<double> rate) {
    return rate && watts > 0 ? std::optional(*rate / watts) : std::nullopt;
  };
  const std::optional<double> half =
      sustained(supports(device, DType::BF16) ? DType::BF16 : DType::F16);
  found.half = for_watt(half);
  found.single = for_watt(sustained(DType::F32)), found.precise = for_watt(sustained(DType::F64));
  for (const Die& die : kDies)
    if (device.id.starts_with(die.prefix)) {
      found.area = {die.area, die.source};
      if (half) found.half_per_area = *half / die.area;
    }
  return found;
}

std::vector<DeviceEfficiency> device_efficiencies() {
  std::vector<DeviceEfficiency> all;
  for (const Device& device : devices())
    if (device.power.value.value > 0) all.push_back(device_efficiency(device));
  return all;
}

}  // namespace trainyard
