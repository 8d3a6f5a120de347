// Whatever is accepted must write to bytes that read back as the same trace.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/io/traces/recorded_trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const RecordedTrace trace =
        parse_recorded_trace({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!(parse_recorded_trace(recorded_trace_bytes(trace), "fuzz") == trace)) std::abort();
    trace_document(trace, Instant{0}, end_of(trace));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
