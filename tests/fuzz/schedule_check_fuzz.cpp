// Does what "schedule --check FILE" does with a file's bytes: an invalid order is refused with
// InvalidInput, and a valid one gives a grid and a document.
#include <cstdint>
#include <cstdlib>

#include "app/workspace/schedules/schedule_study.h"
#include "core/io/documents/order_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    ScheduleRequest request;
    request.devices = 2;
    request.virtual_stages = 2;
    request.microbatches = 2;
    const ScheduleStudy result =
        study(request, order_of({reinterpret_cast<const char*>(data), size}, "input"), "input");
    grid(result);
    const Order again = order_of(order_document({.order = result.order}), "again");
    if (!(again == result.order)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
