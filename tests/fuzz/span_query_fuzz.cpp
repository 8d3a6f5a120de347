// Any text is a query or is refused with InvalidInput; a query reads back as itself.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "visualizers/viewmodel/span_query.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const SpanQuery query = parse_span_query({reinterpret_cast<const char*>(data), size});
    if (!(parse_span_query(to_text(query)) == query)) std::abort();
    matches(query, {"all-reduce", 4, 3, 1, Duration{5}});
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
