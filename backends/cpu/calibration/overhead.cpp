#include "backends/cpu/calibration/overhead.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/calibration/calibrate.h"
#include "backends/cpu/calibration/rehearsal.h"
#include "backends/cpu/cpu_backend.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/builders.h"

namespace trainyard {
namespace {

constexpr int kSteps = 200;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double executed(const Workload& w) {
  LowerOptions options;
  options.grain = Grain::Op;
  const Program p = lower(w, options);
  // A single device exchanges nothing, so all prices are 0.
  TaskPrices free;
  free.time.resize(p.tasks.size());
  free.fill.assign(p.tasks.size(), 1);
  free.resource.assign(p.tasks.size(), 0);
  Training training;
  training.steps = kSteps;
  const std::unique_ptr<DataSource> data = open_data("random", 1);
  CpuBackend backend({w, p, free, &training, data.get()});
  const BackendRun run = backend.run();
  double sum = 0;
  int kernels = 0;
  for (std::uint32_t i = 0; i < p.instructions.size(); ++i) {
    const Task& task = p.task(InstructionId{i});
    if (task.kind != TaskKind::Compute || task.phase == Phase::Update) continue;
    sum += static_cast<double>(run.timeline.spans[i].length().count());
    ++kernels;
  }
  return kernels > 0 ? sum / kernels : 0;
}

double rehearsed(const Workload& w) {
  Rehearsal rehearsal(w, 1_MiB);
  std::vector<double> means;
  for (int step = 0; step < kSteps; ++step) {
    double sum = 0;
    int kernels = 0;
    rehearsal.run([&](const Work& work, Duration took) {
      if (work.kernel < 0) return;
      sum += static_cast<double>(took.count());
      ++kernels;
    });
    means.push_back(sum / std::max(1, kernels));
  }
  return median(std::move(means));
}

}  // namespace

Workload smallest_network() {
  Scenario s{build_mlp({"overhead", 1, 1, 8, 2}), make_cluster(device("cpu"), 1), {}};
  for (const char* one : {"precision=fp32", "optimizer=sgd", "global-batch=1", "micro-batch=1"})
    apply_setting(s.plan, one);
  return prepare(s);
}

Duration measure_overhead() {
  const Workload w = smallest_network();
  return Duration{std::llround(std::max(0.0, executed(w) - rehearsed(w)))};
}

}  // namespace trainyard
