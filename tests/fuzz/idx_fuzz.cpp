// Any bytes are an IDX array, plain or in gzip, or are refused with InvalidInput; an array has as
// many bytes as its shape says.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/training/data/idx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  std::string content(reinterpret_cast<const char*>(data), size);
  const auto read = [](std::string plain) {
    const IdxArray array = parse_idx(std::move(plain), "fuzz");
    std::size_t elements = 1;
    for (std::int64_t dim : array.shape) elements *= static_cast<std::size_t>(dim);
    if (elements != array.bytes.size()) std::abort();
  };
  for (bool packed : {false, true}) {
    try {
      read(packed ? gunzip(content, 1_MiB, "fuzz") : content);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::InvalidInput) std::abort();
    }
  }
  return 0;
}
