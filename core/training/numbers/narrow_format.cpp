#include "core/training/numbers/narrow_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace trainyard {
namespace {

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

// 2^exponent, for exponents of normal floats.
float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// The exponent of a size as its bits say it; below that of every normal number for subnormal ones.
int exponent_of(float size) {
  return static_cast<int>(std::bit_cast<std::uint32_t>(size) >> 23 & 0xff) - 127;
}

using Numbers = std::array<float, 256>;

Numbers numbers_of(const SmallFloat& format) {
  Numbers list{};
  for (int code = 0; code < 256; ++code)
    list[static_cast<std::size_t>(code)] = narrow_number(format, static_cast<std::uint8_t>(code));
  return list;
}

bool is_packed(const SmallFloat& format) { return format.exponent_bits + format.mantissa_bits < 4; }

// The MX specification: the exponent of the largest element, less that of the format's largest.
float shared_power(const SmallFloat& format, float largest) {
  if (!std::isfinite(largest)) return power_of_code(255);
  const int most = exponent_of(narrow_number(format, format.largest));
  const int exponent = largest > 0 ? std::ilogb(largest) - most : -127;
  return power_of_code(static_cast<std::uint8_t>(std::clamp(exponent, -127, 127) + 127));
}

// What is infinite or no number, if there is such an element.
float largest_of_block(const float* first, std::int64_t count, std::int64_t stride) {
  float most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float size = std::abs(first[i * stride]);
    most = size <= most ? most : size;
    if (std::isnan(most)) return most;
  }
  return most;
}

float finite_largest(const float* first, std::int64_t count, std::int64_t stride) {
  float most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float size = std::abs(first[i * stride]);
    if (size > most && size <= std::numeric_limits<float>::max()) most = size;
  }
  return most;
}

std::int64_t block_of(const NarrowScaling& scaling, const Lines& lines) {
  return scaling.block > 0 ? scaling.block : std::max<std::int64_t>(1, lines.length);
}

// Calls f(first element, count, index of the scale) for each block; its elements are lines.inner
// apart.
template <class F>
void each_block(const NarrowScaling& scaling, const Lines& lines, F&& f) {
  const std::int64_t block = block_of(scaling, lines), blocks = (lines.length + block - 1) / block;
  for (std::int64_t o = 0; o < lines.outer; ++o)
    for (std::int64_t b = 0; b < blocks; ++b)
      for (std::int64_t j = 0; j < lines.inner; ++j)
        f((o * lines.length + b * block) * lines.inner + j,
          std::min(block, lines.length - b * block),
          scaling.whole_tensor ? 0 : (o * blocks + b) * lines.inner + j);
}

// Calls f(tile, index, count) for the elements of a row that are in one tile, among `size` elements
// from `first` on: the index is of the first of them.
template <class F>
void each_run(const Tiles& tiles, std::int64_t first, std::size_t size, F&& f) {
  const auto n = static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t column = (first + i) % tiles.columns,
                       count = std::min(
                           {tiles.side - column % tiles.side, tiles.columns - column, n - i});
    f(static_cast<std::size_t>(tiles.of(first + i)), static_cast<std::size_t>(i),
      static_cast<std::size_t>(count));
    i += count;
  }
}

}  // namespace

std::uint8_t narrow_code(const SmallFloat& format, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign =
      static_cast<std::uint8_t>(bits >> 31 << (format.exponent_bits + format.mantissa_bits));
  const float size = std::bit_cast<float>(bits & 0x7fffffff);
  const int m = format.mantissa_bits, lowest = 1 - format.bias();
  if (std::isnan(size)) return sign | (format.no_number != 0 ? format.no_number : format.largest);
  if (exponent_of(size) > (format.largest >> m) - format.bias()) return sign | format.largest;
  // Adding 2^23 leaves no bits behind the point, so the addition does the rounding.
  const int exponent = std::max(exponent_of(size), lowest);
  const float in_last_places = size * power_of_two(m - exponent);
  const std::uint32_t rounded =
      std::bit_cast<std::uint32_t>(in_last_places + 0x1p23F) - 0x4b000000U;
  const std::uint32_t code = (static_cast<std::uint32_t>(exponent - lowest) << m) + rounded;
  return sign | static_cast<std::uint8_t>(std::min<std::uint32_t>(code, format.largest));
}

float narrow_number(const SmallFloat& format, std::uint8_t code) {
  const int m = format.mantissa_bits, bits = format.exponent_bits + m;
  const int size = code & ((1 << bits) - 1), exponent = size >> m;
  float number = static_cast<float>((size & ((1 << m) - 1)) + (exponent > 0 ? 1 << m : 0)) *
                 power_of_two(std::max(exponent, 1) - format.bias() - m);
  if (size > format.largest) number = size == format.infinity ? INFINITY : kNoNumber;
  return (code >> bits & 1) != 0 ? -number : number;
}

float power_of_code(std::uint8_t code) {
  return code == 255 ? kNoNumber : std::ldexp(1.0F, code - 127);
}

std::uint8_t code_of_power(float power) {
  return std::isnan(power) ? 255 : static_cast<std::uint8_t>(std::ilogb(power) + 127);
}

float power_scale(float range, float largest) {
  if (!(largest > 0)) return 1;
  int exponent = 0;
  std::frexp(double{range} / double{largest}, &exponent);
  return power_of_two(-std::clamp(exponent - 1, -126, 126));
}

float tensor_scale(const SmallFloat& format, float largest) {
  return power_scale(narrow_number(format, format.largest), largest);
}

float largest_size(const float* values, std::int64_t count) {
  return finite_largest(values, count, 1);
}

std::int64_t scale_count(const NarrowScaling& scaling, const Lines& lines) {
  const std::int64_t block = block_of(scaling, lines);
  return scaling.whole_tensor ? 1
                              : lines.outer * lines.inner * ((lines.length + block - 1) / block);
}

std::int64_t code_bytes(const SmallFloat& format, std::int64_t elements) {
  return is_packed(format) ? (elements + 1) / 2 : elements;
}

void to_narrow(const NarrowScaling& scaling, const SmallFloat& format, const Lines& lines,
               float largest, const float* values, std::uint8_t* codes, float* scales) {
  const float range = narrow_number(format, format.largest);
  const float tensor_scale =
      largest > 0 ? largest / (range * narrow_number(kE4M3, kE4M3.largest)) : 1;
  const bool packed = is_packed(format);
  if (packed) std::memset(codes, 0, static_cast<std::size_t>(code_bytes(format, lines.elements())));
  each_block(scaling, lines, [&](std::int64_t first, std::int64_t count, std::int64_t at) {
    float scale = 1;
    switch (scaling.scale) {
      case NarrowScaling::Scale::Power:
        scale = power_scale(range, scaling.whole_tensor
                                       ? largest
                                       : finite_largest(values + first, count, lines.inner));
        break;
      case NarrowScaling::Scale::SharedPower:
        scale = shared_power(format, largest_of_block(values + first, count, lines.inner));
        break;
      case NarrowScaling::Scale::OfTensorAndBlock: {
        const float most = largest_of_block(values + first, count, lines.inner);
        scale = std::isfinite(most)
                    ? narrow_number(kE4M3, narrow_code(kE4M3, most / range / tensor_scale)) *
                          tensor_scale
                    : kNoNumber;
        break;
      }
      case NarrowScaling::Scale::OfIntegers:
        break;  // to_flex() makes those
    }
    scales[at] = scale;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t e = first + i * lines.inner;
      const std::uint8_t code = scale > 0 ? narrow_code(format, values[e] / scale) : 0;
      if (packed)
        codes[e / 2] = static_cast<std::uint8_t>(codes[e / 2] | code << (e % 2 * 4));
      else
        codes[e] = code;
    }
  });
}

void from_narrow(const NarrowScaling& scaling, const SmallFloat& format, const Lines& lines,
                 const std::uint8_t* codes, const float* scales, float* values) {
  const Numbers numbers = numbers_of(format);
  const bool packed = is_packed(format);
  each_block(scaling, lines, [&](std::int64_t first, std::int64_t count, std::int64_t at) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t e = first + i * lines.inner;
      const int code = packed ? codes[e / 2] >> (e % 2 * 4) & 15 : codes[e];
      values[e] = numbers[static_cast<std::size_t>(code)] * scales[at];
    }
  });
}

void see_tiles(const Tiles& tiles, std::int64_t first, std::span<const float> values,
               std::span<float> largest) {
  each_run(tiles, first, values.size(), [&](std::size_t tile, std::size_t i, std::size_t count) {
    const auto n = static_cast<std::int64_t>(count);
    largest[tile] = std::max(largest[tile], finite_largest(values.data() + i, n, 1));
  });
}

void tiles_to_narrow(const SmallFloat& format, const Tiles& tiles, std::int64_t first,
                     std::span<const float> values, std::span<const float> largest,
                     std::uint8_t* codes) {
  each_run(tiles, first, values.size(), [&](std::size_t tile, std::size_t i, std::size_t count) {
    const float scale = tensor_scale(format, largest[tile]);
    for (const std::size_t end = i + count; i < end; ++i)
      codes[i] = narrow_code(format, values[i] / scale);
  });
}

void tiles_from_narrow(const SmallFloat& format, const Tiles& tiles, std::int64_t first,
                       std::span<const std::uint8_t> codes, std::span<const float> largest,
                       float* values) {
  const Numbers numbers = numbers_of(format);
  each_run(tiles, first, codes.size(), [&](std::size_t tile, std::size_t i, std::size_t count) {
    const float scale = tensor_scale(format, largest[tile]);
    for (const std::size_t end = i + count; i < end; ++i) values[i] = numbers[codes[i]] * scale;
  });
}

}  // namespace trainyard
