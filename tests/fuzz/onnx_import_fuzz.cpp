// Any bytes are an ONNX model that can be built and written, or are refused with InvalidInput.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/models/onnx_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Model model = import_onnx({reinterpret_cast<const char*>(data), size}, "f.onnx").model;
    if (parameters(model) < 0) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
