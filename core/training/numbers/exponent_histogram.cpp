#include "core/training/numbers/exponent_histogram.h"

#include <algorithm>
#include <bit>

#include "core/base/vectorised.h"

namespace trainyard {
namespace {

constexpr std::size_t kExponentBlock = 4096;            // numbers whose exponents are taken at once
constexpr std::size_t kTables = 4;                      // neighbours count in tables of their own
constexpr std::uint32_t kInfinityTwice = 0xff00'0000u;  // bits of infinity without their sign
constexpr int kMantissaBits = 23, kExponentOfNone = 255;
constexpr std::size_t kFirstNormalCount = 23;  // index of 2^-126, the first count of normal numbers

using ExponentTables = std::array<std::array<std::uint32_t, 256>, kTables>;

struct BlockCounts {
  std::uint32_t zeros = 0, infinities = 0;
};

// Comparisons are those of whole numbers: threads that update flush subnormal numbers to zero, and
// would take them for it.
TRAINYARD_VECTORISED BlockCounts take_exponents(const std::uint32_t* bits, std::size_t count,
                                                std::uint8_t* exponents) {
  std::uint32_t zeros = 0, infinities = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t twice = bits[i] << 1;
    exponents[i] = static_cast<std::uint8_t>(twice >> (kMantissaBits + 1));
    zeros += twice == 0 ? 1u : 0u;
    infinities += twice == kInfinityTwice ? 1u : 0u;
  }
  return {zeros, infinities};
}

TRAINYARD_VECTORISED void take_bits(const float* from, std::size_t count, float scale,
                                    std::uint32_t* bits) {
  for (std::size_t i = 0; i < count; ++i) bits[i] = std::bit_cast<std::uint32_t>(from[i] * scale);
}

void count_exponents(const std::uint8_t* exponents, std::size_t count, ExponentTables& tables) {
  std::size_t i = 0;
  for (; i + kTables <= count; i += kTables)
    for (std::size_t t = 0; t < kTables; ++t) ++tables[t][exponents[i + t]];
  for (; i < count; ++i) ++tables[0][exponents[i]];
}

// An exponent of zero in a number other than zero is that of all subnormal numbers.
void count_subnormal(const std::uint32_t* bits, std::size_t count, ExponentHistogram& into) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t size = bits[i] & 0x7fff'ffffu;
    if (size != 0 && size >> kMantissaBits == 0)
      ++into.counts[static_cast<std::size_t>(std::bit_width(size)) - 1];
  }
}

TRAINYARD_VECTORISED CancelledCount count_kept(const std::uint32_t* before,
                                               const std::uint32_t* after,
                                               const std::uint32_t* gradients, std::size_t count) {
  std::uint32_t asked = 0, kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t asks = (before[i] << 1 != 0 ? 1u : 0u) & (gradients[i] << 1 != 0 ? 1u : 0u);
    asked += asks;
    kept += asks & (before[i] == after[i] ? 1u : 0u);
  }
  return {asked, kept};
}

const std::uint32_t* bits_into(std::array<std::uint32_t, kExponentBlock>& bits,
                               std::span<const float> from, float scale) {
  if (scale == 1)
    std::transform(from.begin(), from.end(), bits.begin(),
                   [](float x) { return std::bit_cast<std::uint32_t>(x); });
  else
    take_bits(from.data(), from.size(), scale, bits.data());
  return bits.data();
}

}  // namespace

std::int64_t ExponentHistogram::elements() const {
  std::int64_t sum = zeros + infinities + nans;
  for (const std::int64_t one : counts) sum += one;
  return sum;
}

std::optional<int> ExponentHistogram::least() const {
  for (int e = kLeast; e <= kMost; ++e)
    if (count(e) > 0) return e;
  return std::nullopt;
}

std::optional<int> ExponentHistogram::most() const {
  for (int e = kMost; e >= kLeast; --e)
    if (count(e) > 0) return e;
  return std::nullopt;
}

ExponentHistogram& ExponentHistogram::operator+=(const ExponentHistogram& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  zeros += other.zeros, infinities += other.infinities, nans += other.nans;
  return *this;
}

ExponentHistogram histogram_of(std::span<const float> values, double scale) {
  ExponentHistogram found;
  std::array<std::uint32_t, kExponentBlock> bits;
  std::array<std::uint8_t, kExponentBlock> exponents;
  for (std::size_t from = 0; from < values.size(); from += kExponentBlock) {
    const std::size_t count = std::min(kExponentBlock, values.size() - from);
    bits_into(bits, values.subspan(from, count), static_cast<float>(scale));
    const BlockCounts block = take_exponents(bits.data(), count, exponents.data());
    ExponentTables tables{};
    count_exponents(exponents.data(), count, tables);
    const auto of = [&](std::size_t exponent) {
      std::int64_t sum = 0;
      for (const auto& table : tables) sum += table[exponent];
      return sum;
    };
    found.zeros += block.zeros;
    found.infinities += block.infinities;
    found.nans += of(kExponentOfNone) - block.infinities;
    if (of(0) > block.zeros) count_subnormal(bits.data(), count, found);
    for (std::size_t e = 1; e < kExponentOfNone; ++e)
      found.counts[kFirstNormalCount + e - 1] += of(e);
  }
  return found;
}

CancelledCount count_cancelled(std::span<const float> before, std::span<const float> after,
                               std::span<const float> gradients) {
  CancelledCount found;
  std::array<std::uint32_t, kExponentBlock> old, now, asked;
  for (std::size_t from = 0; from < before.size(); from += kExponentBlock) {
    const std::size_t count = std::min(kExponentBlock, before.size() - from);
    found += count_kept(bits_into(old, before.subspan(from, count), 1),
                        bits_into(now, after.subspan(from, count), 1),
                        bits_into(asked, gradients.subspan(from, count), 1), count);
  }
  return found;
}

}  // namespace trainyard
