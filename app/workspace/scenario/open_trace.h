// Opens a recorded trace, whichever form it has.
#pragma once

#include <string>
#include <vector>

#include "core/io/traces/chrome_trace_import.h"

namespace trainyard {

/// Chrome's trace events or the CSV of nsys stats, plain or packed, or a .tybin; "example" where no
/// file is called so is a simulated step, written as a trace and read back. Blocks; throws as those
/// readers do, and Error{InvalidInput} where no span touches the range that is asked for.
RecordedTrace open_trace(const std::string& path, const TraceImportOptions& = {});
/// The files that the ranks of one run wrote as one trace (see merged_trace), cut to the range once
/// they are one; a single file as open_trace reads it. At least one.
RecordedTrace open_traces(const std::vector<std::string>& paths, const TraceImportOptions& = {});
/// Files that belong together, looked through: what each covers and what they do as one.
struct TraceFiles {
  std::vector<std::string> paths;  // at least one
  std::vector<TraceExtent> extents;
  AlignedClocks clocks;
  TraceExtent whole;
};
/// As trace_extent does with each.
TraceFiles trace_files(const std::vector<std::string>& paths, const TraceImportOptions& = {});
/// What touches a range of their whole: of each file nothing else is kept. As open_traces. The
/// range of the options is not heeded.
RecordedTrace open_part(const TraceFiles&, const TraceRange&, const TraceImportOptions& = {});
/// part_of() where a span touches the range; else throws as open_trace does.
RecordedTrace asked_part(RecordedTrace whole, const TraceRange&);
/// What such a file covers, so that a range of it can be asked for: read as far as that takes, and
/// nothing kept of it. Blocks and throws as open_trace does.
TraceExtent trace_extent(const std::string& path, const TraceImportOptions& = {});
/// Whether that is quicker to find out than to read the file: a .tybin is there at once.
bool extent_comes_first(const std::string& path);

}  // namespace trainyard
