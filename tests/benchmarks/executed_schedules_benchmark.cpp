// Measures what schedules gain when kernels really run: bubbles of 1F1B and zero-bubble H1 on four
// devices in virtual time, the memory waves of tick-tock, and two devices by the wall clock.
// Figures are ratios; those by the wall clock are meaningful only on an idle machine with two
// cores.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "backends/cpu/cpu_backend.h"
#include "core/model/zoo/builders.h"
#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"

namespace trainyard {
namespace {

struct Trained {
  Program program;
  BackendRun run;
  Timeline predicted;
  double cpu_seconds = 0;  // of the whole run and all its threads
  Duration step() const {
    std::vector<Duration> times(run.step_times.begin() + 1, run.step_times.end());
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
  }
  Duration best_step() const {
    return *std::min_element(run.step_times.begin(), run.step_times.end());
  }
  Bytes peak(Category c) const {
    Bytes most{};
    for (const MemoryWave::Sample& s : run.waves[0].samples)
      most = std::max(most, s.bytes[static_cast<std::size_t>(c)]);
    return most;
  }
};

struct Setup {
  Model model;
  int devices = 1;
  testing::Settings settings;
  int steps = 7;
  CpuOptions options = {};
  PhaseTimes times = {};
};

Trained train(const Setup& setup) {
  testing::Settings all = {"precision=fp32", "optimizer=momentum"};
  all.insert(all.end(), setup.settings.begin(), setup.settings.end());
  const Workload w = prepare(testing::scenario(setup.model, setup.devices, all, "cpu"));
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  lowering.times = setup.times;
  // An asynchronous program contains all its steps: it runs three times, so that the first run,
  // which touches memory for the first time, is not the one kept.
  const bool asynchronous = has_updates(order(w, schedule_shape(w)));
  if (asynchronous) lowering.steps = setup.steps;
  Trained made;
  made.program = lower(w, lowering);
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(made.program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  made.predicted = simulate(made.program, prices);
  Training training;
  training.rate = 1e-3;
  training.steps = asynchronous ? 3 * setup.steps : setup.steps;
  const testing::SampleNumbers source;
  CpuBackend backend({w, made.program, prices, &training, &source}, setup.options);
  const std::clock_t before = std::clock();
  made.run = backend.run();
  made.cpu_seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  return made;
}

// Equal layers; everything else is small beside them.
Model mlp(int layers) { return build_mlp({"mlp", 16, 512, layers, 16}); }

void bubbles() {
  constexpr double p = 4, m = 16;
  const Trained t =
      train({mlp(16), 4, {"pp=4", "schedule=1f1b", "micro-batch=64", "global-batch=1024"}});
  const double expected = (p - 1) / (m + p - 1), found = bubble_fraction(t.run.timeline, t.program);
  std::printf(
      "1f1b, 4 devices, 16 microbatches: bubble %.4f, (p-1)/(m+p-1) %.4f, off by %+.1f %%\n", found,
      expected, 100 * (found / expected - 1));

  const testing::Settings eight = {"pp=4", "micro-batch=64", "global-batch=512"};
  const auto with = [&](std::string_view schedule) {
    testing::Settings all = eight;
    all.push_back(schedule);
    return train({mlp(16), 4, all});
  };
  const Trained one = with("schedule=1f1b"), zero = with("schedule=zb-h1");
  const double predicted =
      to_seconds(makespan(one.predicted)) / to_seconds(makespan(zero.predicted)) - 1;
  const double gained = to_seconds(one.step()) / to_seconds(zero.step()) - 1;
  std::printf(
      "zb-h1 over 1f1b, 4 devices, 8 microbatches: gains %.2f %%, predicted %.2f %%: %.2f of it\n",
      100 * gained, 100 * predicted, gained / predicted);
}

// The mean over the peak of the waves in the middle half of the run, while both are active.
double mean_over_peak(const MemoryWave& wave, Duration whole) {
  const auto of = [](const MemoryWave::Sample& s) {
    return static_cast<double>(s.bytes[static_cast<std::size_t>(Category::Activations)].value);
  };
  double sum = 0, peak = 0;
  const Instant from = whole / 4, to = whole * 3 / 4;
  for (std::size_t i = 0; i < wave.samples.size(); ++i) {
    const Instant next = i + 1 < wave.samples.size() ? wave.samples[i + 1].at : whole;
    const Duration time = std::min(next, to) - std::max(wave.samples[i].at, from);
    if (time.count() <= 0) continue;
    sum += of(wave.samples[i]) * to_seconds(time);
    peak = std::max(peak, of(wave.samples[i]));
  }
  return sum / to_seconds(to - from) / peak;
}

void memory_waves() {
  const Model model = mlp(12);
  const Trained solo =
      train({model, 1, {"schedule=1f1b", "micro-batch=1024", "global-batch=4096"}, 5});
  // The time of one microbatch, of which the waves' delay is half.
  Duration work{};
  for (std::size_t i = 0; i < solo.run.timeline.spans.size(); ++i) {
    const Task& task = solo.program.task(InstructionId{static_cast<std::uint32_t>(i)});
    if (task.kind == TaskKind::Compute && task.phase != Phase::Update)
      work += solo.run.timeline.spans[i].length();
  }
  Setup setup{model, 1, {"schedule=tick-tock", "micro-batch=1024", "global-batch=2048"}, 8};
  setup.times.forward = work / 4;
  setup.times.backward_input = setup.times.backward_weight = {};
  const double alone = static_cast<double>(solo.peak(Category::Activations).value);
  const auto tell = [&](const char* what, const Trained& t) {
    std::printf("tick-tock, %s: peak of activations %.3f of two alone, mean over peak %.3f\n", what,
                static_cast<double>(t.peak(Category::Activations).value) / (2 * alone),
                mean_over_peak(t.run.waves[0], makespan(t.run.timeline)));
  };
  for (const char* sync : {"sync=async", "sync=local"}) {
    Setup one = setup;
    const std::string choice = std::string("tick-tock.") + sync;
    one.settings.push_back(choice);
    tell(sync, train(one));
  }
  Setup aligned = setup;
  aligned.settings.push_back("tick-tock.sync=async");
  aligned.settings.push_back("tick-tock.policy=custom");
  aligned.settings.push_back("tick-tock.offset=0");
  tell("aligned", train(aligned));
}

void two_devices() {
  const Model model = build_mlp({"mlp", 784, 1024, 4, 10});
  const auto run = [&](int devices, const testing::Settings& settings) {
    Setup setup{model, devices, settings, 10};
    setup.options.mode = RunMode::WallClock;
    return train(setup);
  };
  const testing::Settings batch = {"micro-batch=256", "global-batch=2048"};
  testing::Settings pipeline = batch;
  pipeline.insert(pipeline.end(), {"pp=2", "schedule=1f1b"});
  const Trained alone = run(1, batch);
  const auto tell = [&](const char* what, const Trained& two) {
    std::printf(
        "wall clock, two devices on two cores, %s: %.2f times one; CPU time %.3f of one's\n", what,
        to_seconds(alone.best_step()) / to_seconds(two.best_step()),
        two.cpu_seconds / alone.cpu_seconds);
  };
  tell("replicas", run(2, batch));
  tell("a pipeline", run(2, pipeline));
}

// Measures a small model, in which an op takes some tens of microseconds, in CPU time.
void recording() {
  LiveSink live(1);
  Setup told{build_mlp({"mlp", 784, 512, 2, 10}), 1, {"micro-batch=64", "global-batch=256"}, 100};
  told.options.mode = RunMode::WallClock;
  Setup silent = told;
  told.options.live = &live;
  silent.options.record_timeline = false;
  double with = 1e9, without = 1e9;
  for (int i = 0; i < 5; ++i) {
    with = std::min(with, train(told).cpu_seconds);
    without = std::min(without, train(silent).cpu_seconds);
  }
  std::printf("recording and a live sink: %+.2f %% of a step's CPU time\n",
              100 * (with / without - 1));
}

}  // namespace
}  // namespace trainyard

// The arguments select bubbles, waves, two-devices or recording; none = all.
int main(int count, char** words) {
  const auto asked = [&](std::string_view what) {
    return count < 2 || std::find(words + 1, words + count, what) != words + count;
  };
  try {
    if (asked("bubbles")) trainyard::bubbles();
    if (asked("waves")) trainyard::memory_waves();
    if (asked("two-devices")) trainyard::two_devices();
    if (asked("recording")) trainyard::recording();
  } catch (const trainyard::Error& error) {
    std::fprintf(stderr, "%s\n", describe(error).c_str());
    return 1;
  }
}
