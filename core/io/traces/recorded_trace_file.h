// A RecordedTrace as a file of our own, .tybin: the arrays of spans as they lie in memory, so that
// a hundred million of them load in seconds and the file may be mapped.
//
// Little-endian. A head of 64 bytes: "TYBIN\r\n\x1a", version, number of sections, bytes of the
// whole file and a check sum of the head and the table. Then the table, 32 bytes a section: what it
// is, the CRC-32 of its bytes, where it begins (a multiple of 64) and how many bytes it has.
// Sections: a trainyard/recorded-trace document with everything but spans, names and samples; the
// names; starts, ends, names and kinds of spans; times and values of samples.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

inline constexpr std::uint32_t kRecordedTraceVersion = 1;

/// Whether the bytes begin as such a file does.
bool is_recorded_trace(std::string_view bytes);

/// Replaces the file at once or not at all. Blocks. Throws Error{Io}.
void write_recorded_trace(const RecordedTrace&, const std::string& path);
std::string recorded_trace_bytes(const RecordedTrace&);

/// Throws Error{InvalidInput} with the byte: another file, another version, cut short, a check sum
/// that is wrong, spans that overlap. Error{Cancelled} when stopped. `source` becomes the trace's.
RecordedTrace parse_recorded_trace(std::string_view bytes, const std::string& source,
                                   const std::stop_token& = {});
/// The same of a file. Blocks. Throws also Error{Io}.
RecordedTrace read_recorded_trace(const std::string& path, const std::stop_token& = {});

}  // namespace trainyard
