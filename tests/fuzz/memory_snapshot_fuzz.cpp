// Any snapshot that is accepted must replay without an error.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/snapshots/memory_snapshot_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const MemorySnapshot snapshot =
        parse_memory_snapshot({reinterpret_cast<const char*>(data), size}, "fuzz");
    snapshot_findings(snapshot, fullest_device(snapshot));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
