// Any bytes are a picture or are refused with InvalidInput; a picture that is read is written and
// read back as the same.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "visualizers/drawing/png.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Image image = read_png({reinterpret_cast<const char*>(data), size});
    if (image.rgba.size() < 1'000'000 && !(read_png(to_png(image)) == image)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
