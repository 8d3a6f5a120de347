// This file reads traces in the JSON of Chrome's trace events, as PyTorch's profiler (Kineto),
// Perfetto's tools and Trainyard itself write them, plain or packed with gzip. They are read once
// from front to back, with only a block of the file and the result in memory.
//
// It reads complete events (X), begins and ends (B, E), events by id (b, e), marks (i, I, R),
// counters (C) and names (M); arrows (s, t, f) add nothing to the spans and are skipped. Times are
// microseconds with decimals, read to the nanosecond.
#pragma once

#include <string>
#include <string_view>

#include "core/io/bytes/trace_import_options.h"
#include "core/io/traces/trace_extent.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// Blocks. What single events lack is collected as defects and the rest is kept, also for a file
/// that ends early. Throws Error{InvalidInput} with line and offset when it is no trace or none of
/// its events can be shown, Error{Io}, and Error{Cancelled} within 100 ms of being stopped.
RecordedTrace import_chrome_trace(const std::string& path, const TraceImportOptions& = {});
/// Reads a trace from a text.
RecordedTrace parse_chrome_trace(std::string_view text, const std::string& source,
                                 const TraceImportOptions& = {});

/// Returns what the trace covers, by a scan that keeps nothing and is several times as fast as the
/// import. Throws as the import does.
TraceExtent chrome_trace_extent(const std::string& path, const TraceImportOptions& = {});
TraceExtent parse_chrome_trace_extent(std::string_view text, const std::string& source,
                                      const TraceImportOptions& = {});

}  // namespace trainyard
