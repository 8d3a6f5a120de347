// Any input that is accepted must be fitted or refused with a sentence.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/traces/nccl_tests_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const NcclTable table = parse_nccl_tests({reinterpret_cast<const char*>(data), size}, "fuzz");
    links_document(table, fit_links(table));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
