#include "core/training/numbers/vector_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/vectorised.h"

namespace trainyard {
namespace {

constexpr float kNoScale = std::numeric_limits<float>::quiet_NaN();

std::int64_t size_of_vector(const VectorScales& scales, const Lines& lines) {
  return scales.vector > 0 ? scales.vector : std::max<std::int64_t>(1, lines.length);
}

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// The larger one; what is no number stays.
float larger(float size, float than) { return size > than || std::isnan(size) ? size : than; }

// Lines lie beside one another where inner > 1, and their numbers behind one another else.
TRAINYARD_VECTORISED void raise_beside(const float* row, std::size_t count, float* largest) {
  for (std::size_t i = 0; i < count; ++i) largest[i] = larger(std::fabs(row[i]), largest[i]);
}
float largest_behind(const float* first, std::size_t count) {
  float most = 0;
  for (std::size_t i = 0; i < count; ++i) most = larger(std::fabs(first[i]), most);
  return most;
}

// Codes from `least` to `most`, and `least` for NaN (so is the order of operands of max chosen);
// vectors of zeros, and those that have become NaN, have scales of 1 here.
TRAINYARD_VECTORISED void encode_behind(const float* first, std::size_t count, float scale,
                                        float least, float most, std::int16_t* codes) {
  for (std::size_t i = 0; i < count; ++i)
    codes[i] = static_cast<std::int16_t>(
        std::nearbyint(std::min(std::max(least, first[i] / scale), most)));
}
TRAINYARD_VECTORISED void encode_beside(const float* row, std::size_t count, const float* scales,
                                        float least, float most, std::int16_t* codes) {
  for (std::size_t i = 0; i < count; ++i)
    codes[i] = static_cast<std::int16_t>(
        std::nearbyint(std::min(std::max(least, row[i] / scales[i]), most)));
}

// Rounds the scales of one line's vectors, which are `inner` apart.
void round_scales(const VectorScales& how, std::int64_t vectors, std::int64_t inner, float* scales,
                  std::uint16_t* whole, float& line) {
  float largest = 0;
  for (std::int64_t v = 0; v < vectors; ++v) largest = larger(scales[v * inner], largest);
  const auto most = static_cast<float>((1 << how.scale_bits) - 1);
  line = std::isfinite(largest) ? largest / most : kNoScale;
  for (std::int64_t v = 0; v < vectors; ++v) {
    float& scale = scales[v * inner];
    const bool counts = line > 0;
    whole[v * inner] =
        counts ? static_cast<std::uint16_t>(std::clamp(std::ceil(scale / line), 0.0F, most)) : 0;
    scale = counts || line == 0 ? static_cast<float>(whole[v * inner]) * line : kNoScale;
  }
}

// Calls f(first element, elements of the vector, first vector) for the vectors of each row of
// lines.
template <class F>
void each_row_of_vectors(const VectorScales& how, const Lines& lines, F&& f) {
  const std::int64_t each = size_of_vector(how, lines), vectors = vectors_in_line(how, lines);
  for (std::int64_t o = 0; o < lines.outer; ++o)
    for (std::int64_t v = 0; v < vectors; ++v)
      f((o * lines.length + v * each) * lines.inner, std::min(each, lines.length - v * each),
        (o * vectors + v) * lines.inner);
}

}  // namespace

std::int64_t vectors_in_line(const VectorScales& how, const Lines& lines) {
  const std::int64_t each = size_of_vector(how, lines);
  return std::max<std::int64_t>(1, (lines.length + each - 1) / each);
}

VectorCodes to_vectors(const VectorScales& how, const Lines& lines, const float* values) {
  const std::int64_t vectors = vectors_in_line(how, lines), inner = lines.inner;
  const auto most = static_cast<float>(how.most()), least = how.is_signed ? -most : 0;
  VectorCodes made;
  made.codes.resize(at(lines.elements()));
  made.scales.resize(at(lines.outer * vectors * inner));
  made.line.assign(at(lines.outer * inner), 1);
  each_row_of_vectors(how, lines, [&](std::int64_t first, std::int64_t count, std::int64_t scale) {
    float* const own = made.scales.data() + scale;
    if (inner == 1) *own = largest_behind(values + first, at(count));
    for (std::int64_t i = 0; i < count && inner > 1; ++i)
      raise_beside(values + first + i * inner, at(inner), own);
    for (std::int64_t j = 0; j < inner; ++j)
      own[j] = std::isfinite(own[j]) ? own[j] / most : kNoScale;
  });
  if (how.scale_bits > 0) {
    made.whole.resize(made.scales.size());
    for (std::int64_t o = 0; o < lines.outer; ++o)
      for (std::int64_t j = 0; j < inner; ++j) {
        const std::int64_t first = o * vectors * inner + j;
        round_scales(how, vectors, inner, made.scales.data() + first, made.whole.data() + first,
                     made.line[at(o * inner + j)]);
      }
  }
  std::vector<float> divisors(made.scales);
  for (float& divisor : divisors) divisor = divisor > 0 ? divisor : 1;
  each_row_of_vectors(how, lines, [&](std::int64_t first, std::int64_t count, std::int64_t scale) {
    const float* const own = divisors.data() + scale;
    std::int16_t* const codes = made.codes.data() + first;
    if (inner == 1) return encode_behind(values + first, at(count), *own, least, most, codes);
    for (std::int64_t i = 0; i < count; ++i)
      encode_beside(values + first + i * inner, at(inner), own, least, most, codes + i * inner);
  });
  return made;
}

void from_vectors(const VectorScales& how, const Lines& lines, std::span<const std::int16_t> codes,
                  std::span<const float> scales, float* values) {
  each_row_of_vectors(how, lines, [&](std::int64_t first, std::int64_t count, std::int64_t scale) {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < lines.inner; ++j) {
        const std::int64_t e = first + i * lines.inner + j;
        values[e] = static_cast<float>(codes[at(e)]) * scales[at(scale + j)];
      }
  });
}

void round_to_vectors(const VectorScales& how, const Lines& lines, std::vector<float>& values) {
  const VectorCodes made = to_vectors(how, lines, values.data());
  from_vectors(how, lines, made.codes, made.scales, values.data());
}

double whole_product(const VectorScales& how_a, const Lines& a_lines, const VectorCodes& a,
                     std::int64_t first, const VectorScales& how_b, const Lines& b_lines,
                     const VectorCodes& b, std::int64_t second) {
  if (a_lines.length != b_lines.length || how_a.vector != how_b.vector || a.whole.empty() ||
      b.whole.empty())
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("a product in whole numbers takes two lines of one length in vectors of "
                    "one size with scales of few bits, found {} numbers in vectors of {} "
                    "and {} in vectors of {}",
                    a_lines.length, how_a.vector, b_lines.length, how_b.vector),
        {"whole product"});
  const std::int64_t each = size_of_vector(how_a, a_lines),
                     vectors = vectors_in_line(how_a, a_lines);
  const std::int64_t a_outer = first / a_lines.inner, a_inner = first % a_lines.inner,
                     b_outer = second / b_lines.inner, b_inner = second % b_lines.inner;
  std::int64_t sum = 0;
  for (std::int64_t v = 0; v < vectors; ++v) {
    std::int64_t product = 0;
    const std::int64_t end = std::min(a_lines.length, (v + 1) * each);
    for (std::int64_t i = v * each; i < end; ++i)
      product +=
          std::int64_t{a.codes[at((a_outer * a_lines.length + i) * a_lines.inner + a_inner)]} *
          b.codes[at((b_outer * b_lines.length + i) * b_lines.inner + b_inner)];
    sum += product * a.whole[at((a_outer * vectors + v) * a_lines.inner + a_inner)] *
           b.whole[at((b_outer * vectors + v) * b_lines.inner + b_inner)];
  }
  return static_cast<double>(sum) * (double{a.line[at(first)]} * double{b.line[at(second)]});
}

void pack_codes(const VectorScales& how, std::span<const std::int16_t> codes, std::uint8_t* bytes) {
  const std::uint32_t mask = (1U << how.bits) - 1;
  std::uint32_t waiting = 0;
  int bits = 0;
  for (const std::int16_t code : codes) {
    waiting |= (static_cast<std::uint32_t>(code) & mask) << bits;
    bits += how.bits;
    for (; bits >= 8; bits -= 8, waiting >>= 8) *bytes++ = static_cast<std::uint8_t>(waiting);
  }
  if (bits > 0) *bytes = static_cast<std::uint8_t>(waiting);
}

void unpack_codes(const VectorScales& how, const std::uint8_t* bytes,
                  std::span<std::int16_t> codes) {
  const std::uint32_t mask = (1U << how.bits) - 1, sign = how.is_signed ? 1U << (how.bits - 1) : 0;
  std::uint32_t waiting = 0;
  int bits = 0;
  for (std::int16_t& code : codes) {
    for (; bits < how.bits; bits += 8) waiting |= std::uint32_t{*bytes++} << bits;
    const std::uint32_t found = waiting & mask;
    code = static_cast<std::int16_t>(static_cast<int>(found ^ sign) - static_cast<int>(sign));
    waiting >>= how.bits;
    bits -= how.bits;
  }
}

double signal_to_noise(std::span<const float> exact, std::span<const float> rounded) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double was = exact[i], is = rounded[i];
    signal += was * was;
    noise += (was - is) * (was - is);
  }
  constexpr double kDecibel = 10;
  return noise > 0 ? kDecibel * std::log10(signal / noise)
                   : std::numeric_limits<double>::infinity();
}

}  // namespace trainyard
