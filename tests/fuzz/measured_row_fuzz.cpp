// Any text is a file of measured rows or is refused with InvalidInput; every row that is read is
// prepared or skipped with a reason.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/validation/rows/row_scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const auto rows = read_rows({reinterpret_cast<const char*>(data), size}, "input");
    for (const MeasuredRow& row : rows) {
      // A row may ask for a machine or a model that takes minutes to lay out.
      if (row.layers.value_or(1) > 200 || row.gpus.value_or(1) > 4096 ||
          row.global_batch.value_or(1) > 8192 || row.vpp.value_or(1) > 16)
        continue;
      const auto prepared = prepare_row(row);
      if (const auto* skipped = std::get_if<SkippedRow>(&prepared))
        if (skipped->reason.empty()) std::abort();
    }
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
