// Whatever is accepted must be a whole trace that its own file format keeps.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/nsys_csv_import.h"
#include "core/io/recorded_trace_file.h"
#include "core/io/recorded_trace_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const RecordedTrace trace = parse_nsys_csv({reinterpret_cast<const char*>(data), size}, "fuzz");
    check(trace);
    if (!(parse_recorded_trace(recorded_trace_bytes(trace), "fuzz") == trace)) std::abort();
    trace_document(trace, Instant{0}, end_of(trace));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
