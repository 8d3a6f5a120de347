// Whatever is accepted must be a whole trace that its own file format keeps, and so must a part of
// it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/error.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/io/traces/chrome_trace_import.h"
#include "core/io/traces/recorded_trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const RecordedTrace trace = parse_chrome_trace(text, "fuzz");
    check(trace);
    if (!(parse_recorded_trace(recorded_trace_bytes(trace), "fuzz") == trace)) std::abort();
    trace_document(trace, Instant{0}, end_of(trace));
    const TraceExtent extent = parse_chrome_trace_extent(text, "fuzz");
    const TraceRange half{Instant{0}, extent.end / 2 + Duration{1}, extent.base, extent.end};
    check(parse_chrome_trace(text, "fuzz", {.stop = {}, .progress = {}, .range = half}));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
