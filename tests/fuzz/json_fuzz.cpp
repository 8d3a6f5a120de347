// Any text is a JSON value or is refused with InvalidInput; a value reads back as itself from both
// ways of writing it.
#include <cstdint>
#include <cstdlib>

#include "core/io/json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Json value = parse_json({reinterpret_cast<const char*>(data), size}, "input");
    const std::string text = write_json(value);
    if (write_json(parse_json(text, "again")) != text) std::abort();
    if (write_json(parse_json(write_json_line(value), "line")) != text) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
