#include "core/training/optimizers/dynamic_codes.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr int kDecades = 7;

}  // namespace

DynamicCodes::DynamicCodes(bool has_sign) {
  std::size_t at = 0;
  numbers_[at++] = 0;
  numbers_[at++] = 1;
  for (int decade = 0; decade < kDecades; ++decade) {
    const int parts = 1 << (has_sign ? decade : decade + 1);
    for (int part = 0; part < parts; ++part) {
      const double middle = 0.1 + 0.9 * (part + 0.5) / parts,
                   number = middle * std::pow(10, decade - kDecades + 1);
      numbers_[at++] = static_cast<float>(number);
      if (has_sign) numbers_[at++] = static_cast<float>(-number);
    }
  }
  std::sort(numbers_.begin(), numbers_.end());
  for (std::size_t i = 0; i < between_.size(); ++i)
    between_[i] = (numbers_[i] + numbers_[i + 1]) / 2;
}

std::uint8_t DynamicCodes::code(float number) const {
  const auto found = std::lower_bound(between_.begin(), between_.end(), number,
                                      [](float end, float x) { return !(x <= end); });
  return static_cast<std::uint8_t>(found - between_.begin());
}

void from_codes(const DynamicCodes& list, const std::uint8_t* codes, float scale, std::size_t count,
                float* numbers) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = scale * list.number(codes[i]);
}

float to_codes(const DynamicCodes& list, const float* numbers, std::size_t count,
               std::uint8_t* codes) {
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(numbers[i]));
  for (std::size_t i = 0; i < count; ++i)
    codes[i] = list.code(largest > 0 ? numbers[i] / largest : 0);
  return largest;
}

}  // namespace trainyard
