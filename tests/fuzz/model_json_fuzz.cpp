#include <cstdint>

#include "core/io/model_json.h"
#include "tests/fuzz/model_questions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Model model = read_model({reinterpret_cast<const char*>(data), size}, "fuzz");
    ask_everything(model);
    const std::string text = write_model(model);
    if (write_model(read_model(text, "again")) != text) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
