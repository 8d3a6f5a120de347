// Any text is a Megatron layout or is refused with InvalidInput; one that is reads back as itself.
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "core/io/plans/megatron_layout.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const std::vector<LayoutStage> layout =
        parse_megatron_layout({reinterpret_cast<const char*>(data), size}, "input");
    if (parse_megatron_layout(to_text(layout), "again") != layout) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
