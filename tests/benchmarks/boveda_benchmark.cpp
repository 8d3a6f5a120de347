// Packs and unpacks numbers of a heavy-tailed law as Boveda stores them, on one thread. B-NUM-07
// asks a GB of decoded numbers in a second; ratio = stored bytes over those of the numbers.
#include <benchmark/benchmark.h>

#include <cmath>

#include "core/base/drawn_normal.h"
#include "core/training/numbers/boveda.h"

namespace trainyard {
namespace {

constexpr std::size_t kNumbers = 1 << 20;

// Student's law with three degrees of freedom.
std::vector<std::int8_t> heavy_tailed() {
  const Random random(2);
  std::vector<float> numbers(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    double squares = 0;
    for (std::uint64_t k = 0; k < 3; ++k) squares += std::pow(drawn_normal(random, 4 * i + k), 2);
    numbers[i] = static_cast<float>(drawn_normal(random, 4 * i + 3) / std::sqrt(squares / 3));
  }
  return eight_bit_codes(numbers);
}

template <class Number>
std::vector<Number> made() {
  const std::vector<std::int8_t> codes = heavy_tailed();
  return {codes.begin(), codes.end()};
}

template <class Number>
void decode(benchmark::State& state) {
  const BovedaTensor packed = boveda_encode(made<Number>());
  std::vector<Number> numbers(kNumbers);
  for (auto _ : state) {
    boveda_decode(packed, numbers);
    benchmark::DoNotOptimize(numbers.data());
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(kNumbers * sizeof(Number)));
  state.counters["ratio"] = packed.ratio();
}

template <class Number>
void encode(benchmark::State& state) {
  const std::vector<Number> numbers = made<Number>();
  for (auto _ : state) benchmark::DoNotOptimize(boveda_encode(numbers).stored.data());
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(kNumbers * sizeof(Number)));
}

BENCHMARK(decode<std::int8_t>);
BENCHMARK(decode<std::int16_t>);
BENCHMARK(encode<std::int8_t>);
BENCHMARK(encode<std::int16_t>);

}  // namespace
}  // namespace trainyard
