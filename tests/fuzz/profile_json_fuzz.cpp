// Whatever is accepted must write to text that reads back as the same profile.
#include <cstdint>
#include <cstdlib>

#include "core/io/documents/profile_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const ParameterProfile profile =
        read_profile({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!(read_profile(write_profile(profile), "again") == profile)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
