// Where the keys of the timeline go from what is selected: to the next span of the same name, the
// same work on the next device, the next bubble, the next peak of memory, along the critical path.
#pragma once

#include <optional>

#include "visualizers/drawing/view_state.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"

namespace trainyard {

/// The first span of the same name that starts after this one (by > 0), or the last before it, on
/// any device; of equal starts in order of the program. Invalid where there is none. Linear in the
/// spans on that side.
InstructionId same_name(const TimelineModel&, InstructionId, int by);

/// The same work on the device `by` further on: of the lane in the same place the span with the
/// same microbatch and kind of work that starts nearest, else what runs nearest to this one's
/// middle. Invalid where there is no such device or its lane is empty.
InstructionId on_device(const TimelineModel&, InstructionId, int by);

/// The first pause between spans of a rank that begins at `after` or later, round again after the
/// last; the time after its last span is none. Nothing where the rank never pauses.
std::optional<TimeRange> bubble_after(const TimelineModel&, std::size_t rank, Instant after);

/// A peak of a device's memory.
struct PeakPlace {
  DeviceId device;
  std::size_t sample = 0;
  friend bool operator==(const PeakPlace&, const PeakPlace&) = default;
};
/// The first clear peak of the device after the instant, without one its first; after its last the
/// first of the next device, round again. Nothing without devices.
std::optional<PeakPlace> next_peak(const MemoryModel&, DeviceId, std::optional<Instant> after);

/// The step of the critical path after (by > 0) or before the selected span, or the one that runs
/// at the instant where the selected is no step. Stays at the ends. Invalid on an empty path.
InstructionId along_path(const TimelineModel&, InstructionId selected, Instant at, int by);

}  // namespace trainyard
