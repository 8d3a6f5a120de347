#include "visualizers/time/aligned_waves.h"

#include <algorithm>
#include <utility>

#include "visualizers/viewmodel/format.h"

namespace trainyard {

std::optional<StepCurve> aligned_curve(const Experiment& experiment, const MemoryStack& stack) {
  if (stack.bands.size() < 3 || experiment.program.stages != 1) return {};
  const std::vector<std::int64_t>&state = stack.bands[0].bytes, &first = stack.bands[1].bytes;
  const std::int64_t stays = *std::max_element(state.begin(), state.end());
  const auto waves = static_cast<std::int64_t>(stack.bands.size() - 1);
  const std::vector<MemoryWave::Sample>& samples = experiment.waves[stack.device.value].samples;
  std::vector<std::int64_t> at, held;
  for (std::size_t i = 0; i < samples.size(); ++i)
    at.push_back(samples[i].at.count()), held.push_back(stays + waves * first[i]);
  return step_curve(std::move(at), std::move(held));
}

std::optional<AlignedWaves> aligned_waves(const Experiment& experiment, std::optional<Bytes> peak) {
  if (!peak) return {};
  auto held = aligned_curve(experiment, memory_stack(experiment, DeviceId{0}, StackBy::Wave));
  if (!held) return {};
  return AlignedWaves{*std::move(held), *peak};
}

void draw_aligned(Drawing& drawing, const Rect& plot, const Viewport& v, const ByteScale& scale,
                  const StepCurve& curve, int columns) {
  std::vector<std::size_t> samples;
  highest_of(curve, v.from, v.to, columns, samples);
  std::vector<float> top;
  for (const std::size_t sample : samples) top.push_back(scale.y(curve.value[sample]));
  draw_through(drawing, plot, top, 1, 0, {.ink = Ink::Error});
}

Limit aligned_limit(Bytes peak) {
  return {peak.value, "aligned " + format_bytes(peak), Ink::Error, 4};
}

}  // namespace trainyard
