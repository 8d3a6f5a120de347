#include "core/training/numbers/scaled_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/training/numbers/narrow_format.h"
#include "core/training/numbers/roundings.h"

namespace trainyard {
namespace {

constexpr float kLargestHalf = 65504, kLargestInteger = 127;

template <class T>
T loaded(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void stored(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

float scale_of(DType format, std::span<const float> numbers) {
  const float largest = largest_size(numbers.data(), static_cast<std::int64_t>(numbers.size()));
  if (format == DType::F16) return power_scale(kLargestHalf, largest);
  if (format == DType::F8) return tensor_scale(kE4M3, largest);
  const bool all =
      std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
  return all ? largest / kLargestInteger : std::numeric_limits<float>::quiet_NaN();
}

void to_code(DType format, float number, std::byte* to) {
  if (format == DType::F16) return stored(to_f16(number), to);
  if (format == DType::F8) return stored(narrow_code(kE4M3, number), to);
  const float code = std::isfinite(number) ? std::nearbyint(number) : 0;
  stored(static_cast<std::int8_t>(std::clamp(code, -kLargestInteger, kLargestInteger)), to);
}

float from_code(DType format, const std::byte* from) {
  static const std::array<float, 256> kNumbers = [] {
    std::array<float, 256> list{};
    for (std::size_t code = 0; code < list.size(); ++code)
      list[code] = narrow_number(kE4M3, static_cast<std::uint8_t>(code));
    return list;
  }();
  if (format == DType::F16) return from_f16(loaded<std::uint16_t>(from));
  if (format == DType::F8) return kNumbers[loaded<std::uint8_t>(from)];
  return static_cast<float>(loaded<std::int8_t>(from));
}

}  // namespace

ScaledNumbers::ScaledNumbers(std::span<const DType> formats, std::int64_t first,
                             std::int64_t elements, std::byte* memory)
    : formats_(formats),
      first_(first),
      elements_(elements),
      blocks_(state_blocks(first, elements)),
      memory_(memory) {}

std::byte* ScaledNumbers::code(std::size_t format, std::int64_t index) const {
  std::int64_t bytes = index * bytes_of(formats_[format]);
  for (std::size_t f = 0; f < format; ++f) bytes += elements_ * bytes_of(formats_[f]);
  return memory_ + bytes;
}

std::byte* ScaledNumbers::scale(std::size_t format, std::int64_t index) const {
  const std::int64_t block = (first_ + index) / kStateBlock - first_ / kStateBlock,
                     before = static_cast<std::int64_t>(format) * blocks_ + block;
  std::int64_t codes = 0;
  for (const DType one : formats_) codes += elements_ * bytes_of(one);
  return memory_ + codes + before * static_cast<std::int64_t>(sizeof(float));
}

// Calls f(index of the first, where it is among `count`, number of elements) for each block.
template <class F>
void ScaledNumbers::each_block(std::int64_t index, std::size_t count, F&& f) const {
  for (std::size_t done = 0; done < count;) {
    const std::int64_t at = index + static_cast<std::int64_t>(done);
    const auto left = static_cast<std::size_t>(kStateBlock - (first_ + at) % kStateBlock);
    const std::size_t here = std::min(left, count - done);
    f(at, done, here);
    done += here;
  }
}

void ScaledNumbers::read(std::size_t format, std::int64_t index, std::span<float> numbers) const {
  const DType type = formats_[format];
  each_block(index, numbers.size(), [&](std::int64_t at, std::size_t first, std::size_t count) {
    const auto factor = loaded<float>(scale(format, at));
    const std::byte* from = code(format, at);
    for (float& x : numbers.subspan(first, count)) {
      x = from_code(type, from) * factor;
      from += bytes_of(type);
    }
  });
}

void ScaledNumbers::write(std::size_t format, std::int64_t index,
                          std::span<const float> numbers) const {
  const DType type = formats_[format];
  each_block(index, numbers.size(), [&](std::int64_t at, std::size_t first, std::size_t count) {
    const std::span<const float> block = numbers.subspan(first, count);
    const float factor = scale_of(type, block);
    stored(factor, scale(format, at));
    std::byte* to = code(format, at);
    for (const float x : block) {
      to_code(type, factor > 0 ? x / factor : 0, to);
      to += bytes_of(type);
    }
  });
}

float ScaledNumbers::number(std::size_t format, std::int64_t index) const {
  return from_code(formats_[format], code(format, index)) * loaded<float>(scale(format, index));
}

}  // namespace trainyard
