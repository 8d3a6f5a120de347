// Opens a recorded trace in any of its formats.
#pragma once

#include <string>
#include <vector>

#include "core/io/traces/chrome_trace_import.h"

namespace trainyard {

/// Opens Chrome trace events or the CSV of nsys stats, plain or compressed, or a .tybin file. If no
/// file is called "example", that word stands for a simulated step, written as a trace and read
/// back. Blocks. Throws as those readers do, and Error{InvalidInput} if no span touches the
/// requested range.
RecordedTrace open_trace(const std::string& path, const TraceImportOptions& = {});
/// Opens the files of one run's ranks as one trace (see merged_trace), cut to the range after
/// merging; a single file is opened as by open_trace(). At least one path is needed.
RecordedTrace open_traces(const std::vector<std::string>& paths, const TraceImportOptions& = {});
/// Files that belong together, scanned: what each covers.
struct TraceFiles {
  std::vector<std::string> paths;  // at least one
  std::vector<TraceExtent> extents;
  AlignedClocks clocks;
  TraceExtent whole;
};
/// Scans each file as trace_extent() does.
TraceFiles trace_files(const std::vector<std::string>& paths, const TraceImportOptions& = {});
/// Reads the spans of all files that touch a range; nothing else is kept. Behaves as open_traces(),
/// but ignores the range of the options.
RecordedTrace open_part(const TraceFiles&, const TraceRange&, const TraceImportOptions& = {});
/// part_of() if a span touches the range; otherwise throws as open_trace() does.
RecordedTrace asked_part(RecordedTrace whole, const TraceRange&);
/// The extent of such a file, from which a range can be chosen. It reads as little as possible and
/// keeps nothing. Blocks and throws as open_trace() does.
TraceExtent trace_extent(const std::string& path, const TraceImportOptions& = {});
/// Returns whether the extent is cheaper to get than the whole file; a .tybin file is cheap to open
/// whole.
bool extent_comes_first(const std::string& path);

}  // namespace trainyard
