// Any text is a quantity or is refused with InvalidInput, whatever was expected; a quantity prints
// exactly, and for people too.
#include <cstdint>
#include <cstdlib>

#include "core/base/units_text.h"

namespace {

template <typename Parse>
void read(Parse parse, std::string_view text) {
  using trainyard::Error;
  try {
    const auto value = parse(text, {});
    if (parse(trainyard::to_text(value), {}) != value) std::abort();
    if constexpr (requires { trainyard::readable(value); }) trainyard::readable(value);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(parse_bytes, text);
  read(parse_bandwidth, text);
  read(parse_throughput, text);
  read(parse_duration, text);
  read(parse_power, text);
  read(parse_number, text);
  return 0;
}
