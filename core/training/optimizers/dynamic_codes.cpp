#include "core/training/optimizers/dynamic_codes.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/base/vectorised.h"

namespace trainyard {
namespace {

constexpr int kDecades = 7;

// Sizes from 2^-23, below which every number is nearest to 0, to 1 are cut into pieces at the
// leading seven bits of the mantissa. The ends of codes are further apart, so that at most one lies
// in a piece and a single comparison, which vectorises, finds the code.
constexpr std::uint32_t kShift = 16, kLeast = 104U << 23, kMost = 127U << 23,
                        kPieces = ((kMost - kLeast) >> kShift) + 1;

inline std::int32_t code_of(float number, const float* between, const std::int32_t* first) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t size = std::min(std::max(bits & 0x7fffffff, kLeast), kMost);
  const auto piece =
      static_cast<std::int32_t>((bits >> 31) * kPieces + ((size - kLeast) >> kShift));
  const std::int32_t least = first[piece], none = number != number ? 255 : 0;
  return (least + (number > between[least] ? 1 : 0)) | none;
}

TRAINYARD_VECTORISED void find_codes(const float* __restrict numbers, float scale,
                                     std::size_t count, const float* __restrict between,
                                     const std::int32_t* __restrict first,
                                     std::uint8_t* __restrict codes) {
  for (std::size_t i = 0; i < count; ++i)
    codes[i] = static_cast<std::uint8_t>(code_of(numbers[i] / scale, between, first));
}

TRAINYARD_VECTORISED void read_codes(const std::uint8_t* __restrict codes, float scale,
                                     std::size_t count, const float* __restrict list,
                                     float* __restrict numbers) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = scale * list[codes[i]];
}

// A size of NaN counts as 0.
TRAINYARD_VECTORISED float largest_size(const float* numbers, std::size_t count) {
  constexpr std::uint32_t kInfinity = 0xff << 23;
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t size = std::bit_cast<std::uint32_t>(numbers[i]) & 0x7fffffff;
    largest = std::max(largest, size > kInfinity ? 0 : size);
  }
  return std::bit_cast<float>(largest);
}

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
  for (std::size_t i = 0; i + 1 < between_.size(); ++i)
    between_[i] = (numbers_[i] + numbers_[i + 1]) / 2;
  between_.back() = std::numeric_limits<float>::infinity();
  first_.resize(std::size_t{2} * kPieces);
  for (std::uint32_t piece = 0; piece < kPieces; ++piece) {
    const std::uint32_t begin = kLeast + (piece << kShift), last = begin + (1U << kShift) - 1;
    const float least = piece == 0 ? 0.0F : std::bit_cast<float>(begin),
                most = piece + 1 == kPieces ? between_.back() : std::bit_cast<float>(last);
    const auto code_at = [&](float x) {
      return static_cast<std::int32_t>(std::lower_bound(between_.begin(), between_.end(), x) -
                                       between_.begin());
    };
    assert(code_at(most) <= code_at(least) + 1 && code_at(-least) <= code_at(-most) + 1);
    first_[piece] = code_at(least);
    first_[kPieces + piece] = code_at(-most);
  }
}

std::uint8_t DynamicCodes::code(float number) const {
  return static_cast<std::uint8_t>(code_of(number, between_.data(), first_.data()));
}

void from_codes(const DynamicCodes& list, const std::uint8_t* codes, float scale, std::size_t count,
                float* numbers) {
  read_codes(codes, scale, count, list.numbers_.data(), numbers);
}

float to_codes(const DynamicCodes& list, const float* numbers, std::size_t count,
               std::uint8_t* codes) {
  const float largest = largest_size(numbers, count);
  if (largest > 0)
    find_codes(numbers, largest, count, list.between_.data(), list.first_.data(), codes);
  else
    std::fill_n(codes, count, list.code(0));
  return largest;
}

}  // namespace trainyard
