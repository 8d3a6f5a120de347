// Whatever is accepted must write to text that reads back as the same value.
#include <cstdint>
#include <cstdlib>

#include "core/io/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Json value = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (write_json(parse_json(write_json(value), "again")) != write_json(value)) std::abort();
    if (write_json(parse_json(write_json_line(value), "again")) != write_json(value)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
