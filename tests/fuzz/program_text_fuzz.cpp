// Any text is a program or is refused with InvalidInput; what verify() makes of it ends, and what
// is written reads back to the same digest.
#include <cstdint>
#include <cstdlib>

#include "core/program/program_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Program program = parse_program({reinterpret_cast<const char*>(data), size});
    verify(program);
    if (digest(parse_program(to_text(program))) != digest(program)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
