// Any text is PyTorch's pipeline CSV or is refused with InvalidInput; an order that holds is
// written as one that reads back as itself, or refused with Unsupported.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/plans/pipeline_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const PipelineCsv csv =
        parse_pipeline_csv({reinterpret_cast<const char*>(data), size}, "input");
    const int devices = static_cast<int>(csv.order.lanes.size());
    const auto cells =
        static_cast<std::size_t>(csv.stages) * static_cast<std::size_t>(csv.microbatches);
    if (cells > size) return 0;
    if (has_errors(
            check(csv.order,
                  {.devices = devices, .stages = csv.stages, .microbatches = csv.microbatches})))
      return 0;
    if (!(parse_pipeline_csv(pipeline_csv(csv.order), "again").order == csv.order)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput && error.kind() != Error::Kind::Unsupported)
      std::abort();
  }
  return 0;
}
