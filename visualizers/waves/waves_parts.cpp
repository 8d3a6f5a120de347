#include "visualizers/waves/waves_parts.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace trainyard {
std::string two_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::int64_t capacity_of(const WavesModel& model) {
  return model.experiment->result.capacity.value;
}

float x_at(const Rect& slider, double share) {
  return slider.x + slider.width * static_cast<float>(share);
}

Duration offset_time(const WavesModel& model, const DeviceWaves& waves, double share) {
  return Duration{std::llround(share * static_cast<double>(offset_cycle(model, waves).count()))};
}

}  // namespace trainyard
