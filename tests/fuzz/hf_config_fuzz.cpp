// Any config is a model or is refused with InvalidInput; a model can be counted, and writes to text
// that reads back as the same.
#include <cstdint>
#include <cstdlib>

#include "core/io/documents/model_json.h"
#include "core/io/models/hf_config_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Model model =
        import_hf_config({reinterpret_cast<const char*>(data), size}, "config.json");
    if (parameters(model) < active_parameters(model)) std::abort();
    if (write_model(read_model(write_model(model), "again")) != write_model(model)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
