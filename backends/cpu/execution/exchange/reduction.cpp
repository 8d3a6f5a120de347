#include "backends/cpu/execution/exchange/reduction.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {
namespace {

constexpr std::int64_t kTile = 2048;

// Gives a tile as 4-byte floats, either in place or converted into `tile`.
const float* read(const void* from, DType type, std::int64_t first, std::int64_t n, float* tile) {
  if (type == DType::F32) return static_cast<const float*>(from) + first;
  const std::span<const std::uint16_t> bits(static_cast<const std::uint16_t*>(from) + first,
                                            static_cast<std::size_t>(n));
  type == DType::BF16 ? from_bf16(bits, tile) : from_f16(bits, tile);
  return tile;
}

void write(const float* tile, void* to, DType type, std::int64_t first, std::int64_t n) {
  if (type == DType::F32) {
    std::memcpy(static_cast<float*>(to) + first, tile, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  const std::span<const float> values(tile, static_cast<std::size_t>(n));
  std::uint16_t* bits = static_cast<std::uint16_t*>(to) + first;
  type == DType::BF16 ? to_bf16(values, bits) : to_f16(values, bits);
}

template <class Finish>
void each_tile(std::span<const void* const> parts, DType type, std::int64_t elements,
               Finish&& finish) {
  std::array<float, kTile> sum, other;
  for (std::int64_t first = 0; first < elements; first += kTile) {
    const std::int64_t n = std::min(kTile, elements - first);
    const float* from = read(parts[0], type, first, n, other.data());
    std::copy_n(from, n, sum.data());
    for (std::size_t p = 1; p < parts.size(); ++p) {
      from = read(parts[p], type, first, n, other.data());
      for (std::int64_t i = 0; i < n; ++i) sum[static_cast<std::size_t>(i)] += from[i];
    }
    finish(sum.data(), first, n);
  }
}

}  // namespace

void sum_into(std::span<const void* const> parts, std::span<void* const> outs, DType type,
              std::int64_t elements) {
  each_tile(parts, type, elements, [&](const float* sum, std::int64_t first, std::int64_t n) {
    for (void* out : outs) write(sum, out, type, first, n);
  });
}

void add_sum_to(void* accumulator, std::span<const void* const> parts, DType type,
                std::int64_t elements) {
  std::array<float, kTile> held;
  each_tile(parts, type, elements, [&](const float* sum, std::int64_t first, std::int64_t n) {
    const float* before = read(accumulator, type, first, n, held.data());
    std::array<float, kTile> after;
    for (std::int64_t i = 0; i < n; ++i) after[static_cast<std::size_t>(i)] = before[i] + sum[i];
    write(after.data(), accumulator, type, first, n);
  });
}

}  // namespace trainyard
