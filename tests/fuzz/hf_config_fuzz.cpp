#include <cstdint>

#include "core/base/error.h"
#include "core/io/hf_config_import.h"
#include "tests/fuzz/model_questions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    ask_everything(import_hf_config({reinterpret_cast<const char*>(data), size}, "fuzz"));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
