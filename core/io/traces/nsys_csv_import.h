// This file reads traces as Nsight Systems prints them: `nsys stats --format csv` with the reports
//
//   nvtx_pushpop_trace   NVTX ranges of the host's threads
//   nvtx_gpu_proj_trace  the same, projected to when the device did their work
//   cuda_gpu_trace       kernels and copies by device and stream
//
// and any other of a start, a duration and a name with PID and TID (cuda_api_trace, whose launches
// tell which pass a kernel belongs to). One file may hold several reports one after another, with
// the lines that nsys prints between them. Columns are known by their heads, in any order; times by
// the unit in the head: "Start (ns)", "Start (us)", "Start(nsec)", "Start:ts_ns". Files are read
// once from front to back, as traces in JSON are.
#pragma once

#include <string>
#include <string_view>

#include "core/io/bytes/trace_import_options.h"
#include "core/io/traces/trace_extent.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// Returns whether a file that begins with these bytes contains the head of such a report.
bool is_nsys_csv(std::string_view head);

/// Blocks. What single rows lack is collected as defects and the rest is kept. Throws
/// Error{InvalidInput} at "SOURCE:LINE" or "SOURCE:LINE:CELL" where no report is found, its head
/// lacks a column or a unit, or none of its rows can be shown; Error{Io}, and Error{Cancelled}.
RecordedTrace import_nsys_csv(const std::string& path, const TraceImportOptions& = {});
/// Reads the reports from a text.
RecordedTrace parse_nsys_csv(std::string_view text, const std::string& source,
                             const TraceImportOptions& = {});

/// Returns what the trace covers; it is read as for the import but nothing is kept. Throws as the
/// import does.
TraceExtent nsys_csv_extent(const std::string& path, const TraceImportOptions& = {});
TraceExtent parse_nsys_csv_extent(std::string_view text, const std::string& source,
                                  const TraceImportOptions& = {});

}  // namespace trainyard
