// Any text is an order or is refused with InvalidInput; an order reads back as itself, and its
// check terminates.
#include <cstdint>
#include <cstdlib>

#include "core/program/order.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Order order = parse_order({reinterpret_cast<const char*>(data), size});
    if (!(parse_order(to_text(order)) == order)) std::abort();
    check(order, {.devices = 2, .stages = 4, .microbatches = 2});
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
