// This file says how much more an allocator reserved than the tensors of a recorded run needed.
#pragma once

#include <optional>
#include <string>

#include "core/memory/memory_snapshot.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

struct RecordedReserve {
  double factor = 1;  // most reserved memory over most allocated memory, at least 1
  std::string note;   // where it comes from; empty: counters of the recording itself
};

/// `memory` is a snapshot of the same run's allocator; null: counters of the recording say it, and
/// nothing is returned where there are none. Throws Error{InvalidInput} at the snapshot where
/// nothing was allocated, or more than was reserved.
std::optional<RecordedReserve> recorded_reserve(const RecordedTrace&, const MemorySnapshot* memory);

}  // namespace trainyard
