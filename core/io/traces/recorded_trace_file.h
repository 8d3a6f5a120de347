// This file reads and writes a RecordedTrace as a file of our own, .tybin. It has the arrays of
// spans as they are in memory, so that a hundred million spans load in seconds and the file may be
// mapped.
//
// The file is little-endian. A head of 64 bytes has "TYBIN\r\n\x1a", version, number of sections,
// bytes of the whole file and a check sum of the head and the table. The table has 32 bytes per
// section: its kind, the CRC-32 of its bytes, where it begins (a multiple of 64) and how many bytes
// it has. The sections are a trainyard/recorded-trace document with everything but spans, names and
// samples; the names; starts, ends, names and kinds of spans; times and values of samples; and,
// where sizes are stated, the sizes of spans.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

inline constexpr std::uint32_t kRecordedTraceVersion = 1;

/// Returns whether the bytes begin as such a file does.
bool is_recorded_trace(std::string_view bytes);

/// Replaces the file at once or not at all, or writes to a stream. Blocks. Throws as FileWriter
/// does.
void write_recorded_trace(const RecordedTrace&, const std::string& path);
std::string recorded_trace_bytes(const RecordedTrace&);

/// Throws Error{InvalidInput} with the byte for another kind of file, another version, a file cut
/// short, a wrong check sum, or spans that overlap; Error{Cancelled} when stopped. `source` becomes
/// the trace's.
RecordedTrace parse_recorded_trace(std::string_view bytes, const std::string& source,
                                   const std::stop_token& = {});
/// Reads it from a file. Blocks. Also throws Error{Io}.
RecordedTrace read_recorded_trace(const std::string& path, const std::stop_token& = {});

}  // namespace trainyard
