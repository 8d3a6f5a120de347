// The memory waves: what each pipeline rank holds over time, stacked by category, under its
// capacity. One rank is drawn large, the others as a line each. The peak is a stored fact: no zoom
// and no width can lose it.
#pragma once

#include <vector>

#include "visualizers/chart/table.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/view.h"

namespace trainyard {

inline constexpr float kWaveExpanded = 112;
inline constexpr float kWaveCompact = 29;
/// px to which they grow where there is room.
inline constexpr float kWaveExpandedMost = 280, kWaveCompactMost = 56;

struct MemoryLayout {
  Rect bar, expanded, compact;
  float row = kWaveCompact;      // px of each row in `compact`
  DeviceId large;                // the device of `expanded`
  std::vector<DeviceId> others;  // a row each in `compact`, from its top
  Viewport shown;
};
MemoryLayout memory_layout(const MemoryModel&, const Rect& area, const ViewState&);
/// px that all waves take at their usual height, with the section bar.
float memory_height(const MemoryModel&);

/// Items: Wave, tag the device; Peak, tag the device (of its highest peak); Capacity.
void draw_memory(Drawing&, const Rect& area, const MemoryModel&, const ViewState&);

/// Samples by rank, then time: each holds until the next.
DataTable memory_table(ExperimentPtr);

/// What to say of an item of draw_memory at an instant (of a peak: at its own), taken apart as the
/// state's stack is.
Hover describe_memory(const MemoryModel&, Item, Instant at, const ViewState& = {});

/// The same at a point of a picture of that size.
Hover describe_memory_at(const ViewData&, Size, Item, Point, const ViewState&);

extern const View kMemoryView;

}  // namespace trainyard
