// What pipeline ranks hold over time, as curves with their peaks, and how a view says it.
#pragma once

#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "visualizers/drawing/palette.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {

struct MemoryModel {
  ExperimentPtr experiment;
  std::vector<StepCurve> totals;  // by device; sample i is sample i of the experiment's wave
  std::vector<std::vector<std::size_t>> peaks;  // by device: its clear highs, by time
  DeviceId worst;                               // the first device with the highest peak
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
/// Returns "7.99 GiB spare" or "512 MiB over"; with the capacity "7.99 GiB spare of 80.0 GiB" or
/// "512 MiB over 80.0 GiB".
std::string headroom_text(std::int64_t spare);
std::string headroom_text(std::int64_t spare, Bytes capacity);

template <>
MemoryModel make_model(const ViewData&);

}  // namespace trainyard
