// This file finds the extent of a trace in JSON by a scan that looks only at the phases, times,
// names and categories of events, and so is several times as fast as reading it.
#pragma once

#include <optional>

#include "core/io/bytes/byte_source.h"
#include "core/io/traces/trace_extent.h"

namespace trainyard {

/// For well-formed JSON the result is what a reader would find; for other text it may be anything
/// or nothing, but never an error of its own. Throws Error{Cancelled}, and whatever the source
/// throws.
std::optional<TraceExtent> scan_chrome_trace(ByteSource&, const TraceImportOptions&);

}  // namespace trainyard
