// Whatever is accepted must write to text that reads back as the same plan.
#include <cstdint>
#include <cstdlib>

#include "core/io/documents/plan_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Plan plan = parse_plan({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!(parse_plan(plan_document(plan), "again") == plan)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
