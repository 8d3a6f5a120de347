#include "core/training/numbers/autoflex.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace trainyard {
namespace {

constexpr float kMost = static_cast<float>(kLargestMantissa);
constexpr int kMagnitudeBits = 15;

float step_of(int exponent) {
  return std::ldexp(1.0F, std::clamp(exponent, kLeastFlexExponent, kMostFlexExponent));
}

// Comparing this way round takes what is no number for too large. Adding 2^23 leaves no bits behind
// the point, so that the addition rounds to the nearest even.
float mantissa_of(float size, float step) {
  const float steps = size / step;
  return ((steps < kMost ? steps : kMost) + 0x1p23F) - 0x1p23F;
}

// Sizes of 0, and what is no size, need as few bits as any.
int bits_to_hold(double size) {
  constexpr int kMostBits = 1024;
  const double bits = std::ceil(std::log2(size));
  return bits > -kMostBits ? static_cast<int>(std::min<double>(bits, kMostBits)) : -kMostBits;
}

}  // namespace

void to_flex(std::span<const float> numbers, float step, std::int16_t* mantissas) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float mantissa = mantissa_of(std::abs(numbers[i]), step);
    mantissas[i] = static_cast<std::int16_t>(std::copysign(mantissa, numbers[i]));
  }
}

void from_flex(std::span<const std::int16_t> mantissas, float step, float* numbers) {
  for (std::size_t i = 0; i < mantissas.size(); ++i)
    numbers[i] = static_cast<float>(mantissas[i]) * step;
}

FirstFlexStep first_flex_step(float largest) {
  constexpr int kMiddle = (kLeastFlexExponent + kMostFlexExponent) / 2;
  constexpr int kEnough = 1 << 5;  // mantissa steps that tell the exponent of the largest element
  int exponent = kMiddle;
  for (int uses = 1;; ++uses) {
    const float mantissa = mantissa_of(largest, step_of(exponent));
    const int before = exponent;
    if (mantissa >= kMost)
      exponent += 7;
    else
      exponent += std::max(mantissa > 0 ? bits_to_hold(mantissa) : 0, 0) - (kMagnitudeBits - 1);
    exponent = std::clamp(exponent, kLeastFlexExponent, kMostFlexExponent);
    if (exponent == before || (mantissa >= kEnough && mantissa < kMost))
      return {step_of(exponent), uses};
  }
}

void Autoflex::see(float largest) {
  if (step_ == 0) step_ = first_flex_step(largest).step;
  float mantissa = mantissa_of(largest, step_);
  ++uses_;
  bits_ += std::log2(1 + double{mantissa});
  if (mantissa >= kMost) {
    ++saturated_;
    remembered_ = 0;
    mantissa *= 2;
  }
  largest_[static_cast<std::size_t>(remembered_) % kUses] = mantissa * step_;
  ++remembered_;
  predict();
}

void Autoflex::predict() {
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(remembered_), kUses);
  double most = 0, sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    most = std::max(most, double{largest_[i]});
    sum += double{largest_[i]};
  }
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i)
    squares += (double{largest_[i]} - mean) * (double{largest_[i]} - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(count));
  step_ = step_of(bits_to_hold(factors_.alpha * most + factors_.beta * deviation +
                               factors_.gamma * double{step_}) -
                  kMagnitudeBits);
}

std::string Autoflex::state() const {
  std::string bytes;
  const auto add = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(step_), add(largest_), add(remembered_), add(uses_), add(saturated_), add(bits_);
  return bytes;
}

bool Autoflex::restore(std::string_view& bytes) {
  const auto take = [&](auto& value) {
    if (bytes.size() < sizeof value) return false;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return true;
  };
  return take(step_) && take(largest_) && take(remembered_) && take(uses_) && take(saturated_) &&
         take(bits_);
}

}  // namespace trainyard
