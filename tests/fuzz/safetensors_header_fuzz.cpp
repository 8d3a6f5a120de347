// Any bytes are a header of tensors or are refused with InvalidInput; a header that is one is a
// model or is refused the same way.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/models/safetensors_header.h"
#include "core/io/models/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const TensorHeader header =
        parse_safetensors_header({reinterpret_cast<const char*>(data), size},
                                 static_cast<std::int64_t>(size) + 1000000, "f");
    model_from_header(header, "f", "f");
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
