// What every reader of recorded traces is told beside the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "core/base/units.h"

namespace trainyard {

/// A part of a recording by time since its first event, half-open; and what the extent of the whole
/// (trace_extent.h) says of it.
struct TraceRange {
  Instant from{}, to{};   // from < to
  std::int64_t base = 0;  // ns by the trace's own clock, of the first event
  Instant whole{};        // end of the last
};

struct TraceImportOptions {
  std::stop_token stop = {};
  /// Of the file, [0, 1], a few times for each megabyte and never after the call.
  std::function<void(double)> progress = {};
  /// Only spans that touch it are kept, whole; counters within it, with the values that they had
  /// where it begins; steps that lie within it. All keep the times that they have in the whole.
  std::optional<TraceRange> range = {};
};

}  // namespace trainyard
