// The memory waves: what each pipeline rank holds over time, stacked by category, under its
// capacity. One rank is drawn large, the others as a line each. The peak is a stored fact: no zoom
// and no width can lose it.
#pragma once

#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "visualizers/time_plot.h"
#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {

inline constexpr float kSectionBar = 26;
inline constexpr float kWaveExpanded = 112;
inline constexpr float kWaveCompact = 29;

struct MemoryModel {
  ExperimentPtr experiment;
  std::vector<StepCurve> totals;  // by device; sample i is sample i of the experiment's wave
  std::vector<std::vector<std::size_t>> crests;  // by device: its clear highs, by time
  DeviceId worst;                                // the first device with the highest peak
  Instant end{};
};
/// Linear in the number of samples.
MemoryModel memory_model(ExperimentPtr);

/// What a category is drawn as.
Ink ink_of(Category);
/// The range of a device's peak; null where the result has none.
const Banded<Bytes>* peak_band(const Experiment&, DeviceId);
/// "peak 71.7 GiB (69.1 to 74.2): why"; "" where there is no range.
std::string peak_range_text(const Experiment&, DeviceId);
std::int64_t peak_bytes(const StepCurve&);
Instant peak_at(const StepCurve&);
std::string headroom_text(std::int64_t spare);  // "headroom 7.99 GiB"; −: over

struct MemoryLayout {
  Rect bar, expanded, compact;
  DeviceId large;                // the device of `expanded`
  std::vector<DeviceId> others;  // a row each in `compact`, from its top
  Viewport shown;
};
MemoryLayout memory_layout(const MemoryModel&, const Rect& area, const ViewState&);
/// px that all waves take, with the section bar.
float memory_height(const MemoryModel&);

/// Items: Wave, tag the device; Peak, tag the device (of its highest crest); Capacity.
void draw_memory(Drawing&, const Rect& area, const MemoryModel&, const ViewState&);

/// What to say of an item of draw_memory at an instant (of a peak: at its own), taken apart as the
/// state's stack is.
Hover describe_memory(const MemoryModel&, Item, Instant at, const ViewState& = {});

}  // namespace trainyard
