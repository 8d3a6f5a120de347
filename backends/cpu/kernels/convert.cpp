#include "backends/cpu/kernels/convert.h"

#include <bit>
#include <cstring>
#include <string>

#include "backends/cpu/kernels/vectorised.h"
#include "core/base/error.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace trainyard {
namespace {

TRAINYARD_VECTORISED
void from_bf16(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

TRAINYARD_VECTORISED
void to_bf16(const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const bool no_number = (bits & 0x7fffffff) > 0x7f800000;
    to[i] = static_cast<std::uint16_t>(no_number ? (bits >> 16) | 0x40 : rounded);
  }
}

// The exponents' biases differ by 112. Numbers below the normal range of F16 are multiples of
// 2^-24.
float f16_number(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 31, fraction = half & 0x3ff;
  if (exponent == 0) {
    const float small = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -small : small;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

std::uint16_t f16_bits(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t size = bits & 0x7fffffff;
  if (size > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | ((size >> 13) & 0x3ff));
  if (size >= 0x477ff000) return sign | 0x7c00;  // from halfway beyond the largest
  if (size < 0x38800000) {
    // Adding 1/2 makes the last bit of the sum 2^-24, so the addition does the rounding.
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t odd = (size >> 13) & 1;
  return static_cast<std::uint16_t>(sign | ((size - (112U << 23) + 0xfff + odd) >> 13));
}

#ifdef __x86_64__
__attribute__((target("avx,f16c"))) std::int64_t from_f16_by_eights(const std::uint16_t* from,
                                                                    float* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}
__attribute__((target("avx,f16c"))) std::int64_t to_f16_by_eights(const float* from,
                                                                  std::uint16_t* to,
                                                                  std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
bool converts_f16() {
  static const bool does = __builtin_cpu_supports("avx2");  // processors with AVX2 also convert F16
  return does;
}
#else
std::int64_t from_f16_by_eights(const std::uint16_t*, float*, std::int64_t) { return 0; }
std::int64_t to_f16_by_eights(const float*, std::uint16_t*, std::int64_t) { return 0; }
bool converts_f16() { return false; }
#endif

[[noreturn]] void refuse_type(DType type) {
  throw Error(Error::Kind::Internal, "a kernel's operand in " + std::string(to_string(type)) +
                                         "; it takes fp32, bf16 and fp16");
}

}  // namespace

void to_floats(const void* from, DType type, float* to, std::int64_t count) {
  const auto* sixteen = static_cast<const std::uint16_t*>(from);
  switch (type) {
    case DType::F32:
    case DType::TF32:
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::BF16:
      return from_bf16(sixteen, to, count);
    case DType::F16:
      for (std::int64_t i = converts_f16() ? from_f16_by_eights(sixteen, to, count) : 0; i < count;
           ++i)
        to[i] = f16_number(sixteen[i]);
      return;
    default:
      refuse_type(type);
  }
}

void from_floats(const float* from, void* to, DType type, std::int64_t count) {
  auto* sixteen = static_cast<std::uint16_t*>(to);
  switch (type) {
    case DType::F32:
    case DType::TF32:
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::BF16:
      return to_bf16(from, sixteen, count);
    case DType::F16:
      for (std::int64_t i = converts_f16() ? to_f16_by_eights(from, sixteen, count) : 0; i < count;
           ++i)
        sixteen[i] = f16_bits(from[i]);
      return;
    default:
      refuse_type(type);
  }
}

std::vector<float> rounded(std::span<const float> numbers, DType type) {
  std::vector<std::byte> narrower(numbers.size() * static_cast<std::size_t>(bytes_of(type)));
  std::vector<float> floats(numbers.size());
  const auto count = static_cast<std::int64_t>(numbers.size());
  from_floats(numbers.data(), narrower.data(), type, count);
  to_floats(narrower.data(), type, floats.data(), count);
  return floats;
}

}  // namespace trainyard
