// Any text is a cluster or is refused with InvalidInput; a cluster's name reads back as the same
// cluster.
#include <cstdint>
#include <cstdlib>

#include "core/cluster/cluster.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Cluster cluster = parse_cluster({reinterpret_cast<const char*>(data), size});
    if (!check(cluster).empty() || !(parse_cluster(cluster.name) == cluster)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
