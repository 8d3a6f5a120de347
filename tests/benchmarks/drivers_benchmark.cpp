// Measures the drivers of the CPU backend by themselves, with kernels that do nothing, on one
// thread and on two, with and without a live sink. An item is an instance of an instruction.
#include <benchmark/benchmark.h>

#include "backends/cpu/time/virtual_time.h"
#include "backends/simulator/simulator.h"
#include "core/base/processor_time.h"
#include "tests/support/fake_execution.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

// An execution without kernels, memory and checks.
class Nothing final : public testing::FakeExecution {
 public:
  using FakeExecution::FakeExecution;
  void begin(InstructionId, int, Scratch&) override {}
  TravelPtr exchange(InstructionId, std::span<const int>) override { return nullptr; }
  void end(InstructionId, int) override {}
};

Program program(int devices) {
  return lower(testing::pipeline({"1f1b", devices, 1, 64}), {.grain = Grain::Op});
}

void drive(benchmark::State& state, const Program& p, Driver& driver, bool live) {
  Nothing execution(p, 1, 1);
  LiveSink sink(p.devices);
  std::vector<LiveSpan> spans;
  std::vector<LiveMemory> memory;
  std::vector<LiveStep> steps;
  int repetition = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        driver.run(execution, repetition++, live ? &sink : nullptr, {}).timeline.spans.data());
    state.PauseTiming();
    spans.clear(), memory.clear(), steps.clear();
    sink.drain(spans, memory, steps);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * p.instructions.size()));
}

void WallClock(benchmark::State& state) {
  const Program p = program(static_cast<int>(state.range(0)));
  const auto driver = wall_clock_driver(static_cast<int>(state.range(1)), 0);
  drive(state, p, *driver, state.range(2) != 0);
}
BENCHMARK(WallClock)
    ->ArgNames({"devices", "threads", "live"})
    ->ArgsProduct({{1, 2, 4}, {1, 2}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

void VirtualTime(benchmark::State& state) {
  const Program p = program(static_cast<int>(state.range(0)));
  const TaskPrices prices = testing::fixed_prices(p, Duration{1000}, Duration{2000});
  const auto driver = virtual_time_driver(prices, thread_processor_time);
  drive(state, p, *driver, state.range(1) != 0);
}
BENCHMARK(VirtualTime)
    ->ArgNames({"devices", "live"})
    ->ArgsProduct({{1, 4}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trainyard

BENCHMARK_MAIN();
