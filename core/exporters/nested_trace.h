// This file writes nested spans in the JSON of Chrome's trace events, for ui.perfetto.dev and
// chrome://tracing: a row for each thread, whose spans lie in each other.
#pragma once

#include <string>

#include "core/timeline/nested_spans.h"

namespace trainyard {

/// Times are microseconds from the start of the recording with three decimals. A span's category is
/// its level. `process` names what was recorded.
std::string nested_trace(const NestedSpans&, const std::string& process);

}  // namespace trainyard
