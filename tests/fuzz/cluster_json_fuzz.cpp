// Any document is a cluster or is refused with InvalidInput; what is read is written and read back
// as the same.
#include <cstdint>
#include <cstdlib>

#include "core/io/documents/cluster_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Cluster cluster = read_cluster({reinterpret_cast<const char*>(data), size}, "input");
    if (!(read_cluster(write_cluster(cluster), "again") == cluster)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
