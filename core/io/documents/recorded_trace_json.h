// This file writes documents about a recorded trace: its defects, and the summary that `trainyard
// trace --json` prints.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

Json to_json(const TraceDefect&);
/// Returns a trainyard/trace@1 document: what was recorded, its steps, and where the time of each
/// process went within the range. from < to.
std::string trace_document(const RecordedTrace&, Instant from, Instant to);

}  // namespace trainyard
