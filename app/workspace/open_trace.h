// Opens a recorded trace, whichever form it has.
#pragma once

#include <string>

#include "core/io/chrome_trace_import.h"

namespace trainyard {

/// Chrome's trace events or the CSV of nsys stats, plain or packed, or a .tybin; "example" where no
/// file is called so is a simulated step, written as a trace and read back. Blocks; throws as those
/// readers do.
RecordedTrace open_trace(const std::string& path, const TraceImportOptions& = {});

}  // namespace trainyard
