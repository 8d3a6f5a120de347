// This file has the options that every reader of recorded traces takes beside the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "core/base/units.h"

namespace trainyard {

/// A TraceRange is a part of a recording, half-open, by time since its first event, together with
/// what the extent of the whole recording (trace_extent.h) says of it.
struct TraceRange {
  Instant from{}, to{};   // from < to
  std::int64_t base = 0;  // ns of the first event by the trace's own clock
  Instant whole{};        // end of the last event
};

struct TraceImportOptions {
  std::stop_token stop = {};
  /// Receives the share of the file that is read, in [0, 1], a few times per megabyte and never
  /// after the call.
  std::function<void(double)> progress = {};
  /// If set, only spans that touch the range are kept (whole), counters within it (with their
  /// values at its beginning), and steps that lie within it. All keep their times in the whole
  /// recording.
  std::optional<TraceRange> range = {};
};

}  // namespace trainyard
