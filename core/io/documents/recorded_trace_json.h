// This file writes documents about a recorded trace: its defects, and the summary that `trainyard
// trace --json` prints.
#pragma once

#include <string>

#include "core/io/json/fields.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

const Fields<TraceDefect>& trace_defect_fields();
/// Returns a trainyard/trace@1 document: what was recorded, its steps, and where the time of each
/// process went within the range. from < to.
Json trace_schema();
std::string trace_document(const RecordedTrace&, Instant from, Instant to);

}  // namespace trainyard
