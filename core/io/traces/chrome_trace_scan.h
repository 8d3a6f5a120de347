// The extent of a trace in JSON by a scan that looks at nothing but the phases, times, names and
// categories of events: several times as quick as reading it.
#pragma once

#include <optional>

#include "core/io/bytes/byte_source.h"
#include "core/io/traces/trace_extent.h"

namespace trainyard {

/// Of JSON that is well formed what a reader would find; of other text nothing or something, never
/// an Error of its own. Throws Error{Cancelled}, and as the source does.
std::optional<TraceExtent> scan_chrome_trace(ByteSource&, const TraceImportOptions&);

}  // namespace trainyard
