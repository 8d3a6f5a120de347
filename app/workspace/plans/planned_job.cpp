#include "app/workspace/plans/planned_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/workspace/scenario/run_once.h"

namespace trainyard {
namespace {

// Durations spread as much as those of the stated kinds: half of the jobs take less than the
// median, one of six more than twice that.
constexpr double kSpread = 0.8;

// The most that the device holds in each phase of the step.
PhaseWave phases_of(const MemoryWave& wave, Duration step) {
  PhaseWave phases{};
  const std::int64_t length = std::max<std::int64_t>(1, step.count());
  const auto phase = [&](Instant when) {
    const double share = static_cast<double>(when.count()) / static_cast<double>(length);
    return std::min(kWavePhases - 1,
                    static_cast<std::size_t>(share * static_cast<double>(kWavePhases)));
  };
  for (std::size_t i = 0; i < wave.samples.size(); ++i) {
    const std::size_t last =
        i + 1 < wave.samples.size() ? phase(wave.samples[i + 1].at) : kWavePhases - 1;
    for (std::size_t p = phase(wave.samples[i].at); p <= last; ++p)
      phases[p] = std::max(phases[p], total(wave.samples[i].bytes).value);
  }
  return phases;
}

}  // namespace

JobKind planned_job(const Scenario& scenario, Duration median) {
  const auto experiment = run_once(scenario, {.grain = natural_grain(scenario)});
  const Result& result = experiment->result;
  JobKind kind;
  kind.name = fmt::format("{} on {}", result.model_name, result.devices);
  kind.devices = result.devices;
  kind.median = median, kind.spread = kSpread;
  // One wave stands for all devices that do the same.
  const auto alike = std::max<std::int64_t>(
      1, result.devices /
             std::max<std::int64_t>(1, static_cast<std::int64_t>(experiment->waves.size())));
  for (const MemoryWave& wave : experiment->waves) {
    const PhaseWave phases = phases_of(wave, result.step.value);
    for (std::size_t p = 0; p < kWavePhases; ++p) kind.wave[p] += alike * phases[p];
  }
  return kind;
}

}  // namespace trainyard
