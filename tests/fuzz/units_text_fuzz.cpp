// Whatever is accepted must print to text that reads back as the same quantity.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/units_text.h"

namespace {

template <class Parse>
void check(std::string_view text, Parse parse) {
  using namespace trainyard;
  try {
    const auto value = parse(text, Place{});
    if (!(parse(to_text(value), Place{}) == value)) std::abort();
    if (readable(value).empty()) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, trainyard::parse_bytes);
  check(text, trainyard::parse_bandwidth);
  check(text, trainyard::parse_throughput);
  check(text, trainyard::parse_duration);
  check(text, trainyard::parse_power);
  return 0;
}
