// Any document is a project or is refused with InvalidInput; a project reads back as itself.
#include <cstdint>
#include <cstdlib>

#include "core/io/documents/project.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  try {
    const Project project = parse_project({reinterpret_cast<const char*>(data), size}, "input");
    if (!(parse_project(project_document(project), "again") == project)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}
