// How fast six schedules of 16 stages and 128 microbatches follow a knob: lowered, simulated and
// laid out beside each other. The bar is 16 ms for all six on one core, so that a drag keeps 60
// frames a second. What a knob does not change is prepared once.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "backends/simulator/simulator.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/timeline/metrics.h"
#include "visualizers/drawing/in_parallel.h"
#include "visualizers/memory/kept_memory.h"
#include "visualizers/schedule/order_view.h"
#include "visualizers/schedule/schedules_view.h"

namespace trainyard {
namespace {

constexpr const char* kSchedules[] = {
    "schedule=gpipe", "schedule=1f1b",  "schedule=interleaved virtual-stages=2",
    "schedule=zb-h1", "schedule=zb-h2", "schedule=zb-v virtual-stages=2"};

const CostModel& cost() {
  static const std::unique_ptr<CostModel> model = roofline_cost_model();
  return *model;
}

struct Prepared {
  Workload workload;
  PhaseTimes times;
};

// A layer a virtual stage at least; tensor parallel adds two collectives to every action.
struct Plans {
  const char *model, *cluster, *settings;
};
constexpr Plans kPlans[] = {
    {"llama-3-8b", "h100-sxm:16", "pp=16 global-batch=128"},
    {"gpt3-175b", "h100-sxm:128", "tp=8 pp=16 global-batch=128"},
};

std::vector<Prepared> prepare_all(const Plans& plans) {
  std::vector<Prepared> made;
  for (const std::string schedule : kSchedules) {
    Scenario s{zoo_model(plans.model), parse_cluster(plans.cluster), {}};
    const std::string words = std::string(plans.settings) + " " + schedule;
    for (std::size_t from = 0; from < words.size();) {
      const std::size_t end = std::min(words.find(' ', from), words.size());
      apply_setting(s.plan, words.substr(from, end - from));
      from = end + 1;
    }
    made.push_back({prepare(s), {}});
    made.back().times = phase_times(made.back().workload, cost());
  }
  return made;
}

const std::vector<Prepared>& prepared(std::int64_t plans) {
  static const std::vector<Prepared> lists[] = {prepare_all(kPlans[0]), prepare_all(kPlans[1])};
  return lists[plans];
}

Program lowered(const Prepared& p, bool verified) {
  return lower(p.workload, {.verify = verified, .times = p.times});
}

TaskPrices priced(const Prepared& p, const Program& program) {
  const Scenario& scenario = p.workload.scenario;
  return price(program, scenario.plan.mesh, scenario.cluster, cost());
}

std::shared_ptr<Experiment> run(const Prepared& p, bool verified) {
  auto e = std::make_shared<Experiment>();
  e->workload = p.workload;
  e->program = lowered(p, verified);
  e->prices = priced(p, e->program);
  e->timeline = simulate(e->program, e->prices);
  e->result.capacity = p.workload.scenario.cluster.device.memory.value;
  e->result.step.value = step_window(e->timeline, e->program).length();
  return e;
}

void hold(Experiment& e) {
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(e.program.devices); ++d)
    e.waves.push_back(memory_wave(e.timeline, e.program, DeviceId{d}));
}

std::vector<std::shared_ptr<Experiment>> run_all(std::int64_t plans) {
  std::vector<std::shared_ptr<Experiment>> made;
  for (const Prepared& p : prepared(plans)) {
    made.push_back(run(p, true));
    hold(*made.back());
  }
  return made;
}

const std::vector<std::shared_ptr<Experiment>>& experiments(std::int64_t plans) {
  static const std::vector<std::shared_ptr<Experiment>> lists[] = {run_all(0), run_all(1)};
  return lists[plans];
}

void count(benchmark::State& state) {
  std::size_t instructions = 0;
  for (const auto& e : experiments(state.range(0))) instructions += e->program.instructions.size();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(instructions));
}

constexpr Size kPage{1400, 900};

Drawing laid_out(std::vector<SchedulePanel> panels) {
  const SchedulesModel model = schedules_model(std::move(panels), 80_GiB);
  Drawing drawing(kPage);
  draw_schedules(drawing, {0, 0, kPage.width, kPage.height}, model, {});
  return drawing;
}

// The bar: under 16 ms.
void SixSchedules(benchmark::State& state) {
  const bool verified = state.range(1) != 0;
  prepared(0);
  for (auto _ : state) {
    const std::vector<Prepared>& plans = prepared(state.range(0));
    std::vector<SchedulePanel> panels(plans.size());
    in_parallel(plans.size(), [&](std::size_t i) {
      const std::shared_ptr<Experiment> e = run(plans[i], verified);
      hold(*e);
      panels[i] = schedule_panel(e);
    });
    benchmark::DoNotOptimize(laid_out(std::move(panels)).tiles.data());
  }
  count(state);
}
BENCHMARK(SixSchedules)
    ->ArgsProduct({{0, 1}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void Lower(benchmark::State& state) {
  prepared(0);
  for (auto _ : state)
    for (const Prepared& p : prepared(state.range(0)))
      benchmark::DoNotOptimize(lowered(p, state.range(1) != 0).instructions.data());
  count(state);
}
BENCHMARK(Lower)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond);

void Orders(benchmark::State& state) {
  prepared(0);
  for (auto _ : state)
    for (const Prepared& p : prepared(state.range(0)))
      benchmark::DoNotOptimize(order(p.workload, schedule_shape(p.workload, p.times)).lanes.data());
}
BENCHMARK(Orders)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

void Price(benchmark::State& state) {
  experiments(0);
  for (auto _ : state)
    for (std::size_t i = 0; i < prepared(state.range(0)).size(); ++i)
      benchmark::DoNotOptimize(
          priced(prepared(state.range(0))[i], experiments(state.range(0))[i]->program).time.data());
}
BENCHMARK(Price)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

void Simulate(benchmark::State& state) {
  experiments(0);
  for (auto _ : state)
    for (const auto& e : experiments(state.range(0)))
      benchmark::DoNotOptimize(simulate(e->program, e->prices).spans.data());
  count(state);
}
BENCHMARK(Simulate)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

void MemoryWaves(benchmark::State& state) {
  experiments(0);
  for (auto _ : state)
    for (const auto& e : experiments(state.range(0)))
      for (std::uint32_t d = 0; d < 16; ++d)
        benchmark::DoNotOptimize(memory_wave(e->timeline, e->program, DeviceId{d}).samples.data());
}
BENCHMARK(MemoryWaves)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

void Models(benchmark::State& state) {
  experiments(0);
  for (auto _ : state)
    for (const auto& e : experiments(state.range(0)))
      benchmark::DoNotOptimize(schedule_panel(e).timeline.spans.start.data());
}
BENCHMARK(Models)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

void Draw(benchmark::State& state) {
  std::vector<SchedulePanel> panels;
  for (const auto& e : experiments(state.range(0))) panels.push_back(schedule_panel(e));
  const SchedulesModel model = schedules_model(std::move(panels), 80_GiB);
  for (auto _ : state) {
    Drawing drawing(kPage);
    draw_schedules(drawing, {0, 0, kPage.width, kPage.height}, model, {});
    benchmark::DoNotOptimize(drawing.tiles.data());
  }
}
BENCHMARK(Draw)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

void OrderGrids(benchmark::State& state) {
  experiments(0);
  for (auto _ : state)
    for (const auto& e : experiments(state.range(0)))
      benchmark::DoNotOptimize(order_grid(e->program).cells.data());
}
BENCHMARK(OrderGrids)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  trainyard::keep_freed_memory();  // as the window does
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
