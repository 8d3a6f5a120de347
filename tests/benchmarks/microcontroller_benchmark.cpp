// Measures what running a network for a microcontroller costs beside its kernels (B-MOD-11: at most
// 5 % where a layer has 100,000 multiplications or more). overhead_percent = processor time of
// run_network() beyond that of its layers alone, of the latter.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "core/microcontroller/interpreter.h"
#include "core/model/zoo/builders.h"
#include "tests/support/micro_networks.h"

namespace trainyard {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
double seconds_of(F&& f) {
  const double start = processor_seconds();
  f();
  return processor_seconds() - start;
}

// Convolutions of 8 to 8 channels: image^2 * 8 * 8 * 9 multiplications each.
void run_overhead(benchmark::State& state) {
  testing::MicroNetwork made{build_convnet({.name = "cnn",
                                            .image = state.range(0),
                                            .channels = 8,
                                            .classes = 10,
                                            .width = 8,
                                            .stages = 1,
                                            .blocks = 4}),
                             {},
                             {},
                             {},
                             {}};
  testing::make_micro_network(made, 1, 1);
  const IntegerNetwork& network = made.whole;
  const IntegerTensor& in = network.tensor(network.input);
  const std::vector<std::int8_t> input =
      quantised(channels_last(made.samples[0], in.size), in.scale);
  std::vector<std::int8_t> output(10), arena(static_cast<std::size_t>(network.arena.value));
  struct Kernel {
    const IntegerLayer* layer;
    LayerMemory memory;
  };
  std::vector<Kernel> kernels;
  for (const IntegerLayer& layer : network.layers)
    kernels.push_back(
        {&layer, layer_memory(network, layer, input.data(), output.data(), arena.data())});
  // In turn, and the least of many, because all else on the machine only adds.
  double whole = 1e300, alone = 1e300;
  for (auto _ : state) {
    whole = std::min(whole, seconds_of([&] { run_network(network, input, output, arena); }));
    alone = std::min(alone, seconds_of([&] {
                       for (const Kernel& kernel : kernels)
                         run_layer(network, *kernel.layer, kernel.memory);
                     }));
  }
  state.counters["multiplications_per_convolution"] =
      static_cast<double>(state.range(0) * state.range(0) * 8 * 8 * 9);
  state.counters["overhead_percent"] = 100 * (whole / alone - 1);
}
BENCHMARK(run_overhead)->Arg(14)->Arg(28)->Iterations(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard
