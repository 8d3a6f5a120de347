#include <cstdlib>
#include <utility>

#include "core/result/figures.h"
#include "core/timeline/metrics.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/peaks.h"

namespace trainyard {

const Banded<Bytes>* peak_band(const Experiment& experiment, DeviceId device) {
  for (const StageMemory& stage : experiment.result.memory)
    if (stage.device == device && has_band(stage.peak)) return &stage.peak;
  return nullptr;
}

std::string peak_range_text(const Experiment& experiment, DeviceId device) {
  const Banded<Bytes>* band = peak_band(experiment, device);
  return band == nullptr ? "" : "peak " + band_text(*band).text() + ": " + band->basis;
}

std::int64_t peak_bytes(const StepCurve& curve) { return curve.value[curve.peak]; }

Instant peak_at(const StepCurve& curve) { return Instant{curve.at[curve.peak]}; }

std::string headroom_text(std::int64_t spare) {
  return format_bytes({std::abs(spare)}) + (spare < 0 ? " over" : " spare");
}

std::string headroom_text(std::int64_t spare, Bytes capacity) {
  return headroom_text(spare) + (spare < 0 ? " " : " of ") + format_bytes(capacity);
}

Ink ink_of(Category category) {
  switch (category) {
    case Category::Weights:
      return Ink::MemoryWeights;
    case Category::OptimizerState:
      return Ink::MemoryOptimizer;
    case Category::Gradients:
      return Ink::MemoryGradients;
    case Category::Activations:
      return Ink::MemoryActivations;
    case Category::Recomputed:
      return Ink::Recompute;
    case Category::Communication:
      return Ink::Communication;
    case Category::Framework:
    case Category::Workspace:
      return Ink::MemoryContext;
  }
  return Ink::MemoryContext;
}

MemoryModel memory_model(ExperimentPtr experiment) {
  MemoryModel model;
  model.end = makespan(experiment->timeline);
  std::int64_t highest = -1;
  for (std::uint32_t d = 0; d < experiment->waves.size(); ++d) {
    const MemoryWave& wave = experiment->waves[d];
    std::vector<std::int64_t> at, value;
    at.reserve(wave.samples.size());
    value.reserve(wave.samples.size());
    for (const MemoryWave::Sample& sample : wave.samples) {
      at.push_back(sample.at.count());
      value.push_back(total(sample.bytes).value);
    }
    model.totals.push_back(step_curve(std::move(at), std::move(value)));
    model.peaks.push_back(peaks_above(model.totals.back(), clear_rise(model.totals.back())));
    if (const std::int64_t peak = peak_bytes(model.totals.back()); peak > highest)
      highest = peak, model.worst = DeviceId{d};
  }
  model.experiment = std::move(experiment);
  return model;
}

template <>
MemoryModel make_model(const ViewData& data) {
  return memory_model(data.experiment);
}

}  // namespace trainyard
