// Any bytes are a journal or none, without an exception; an entry reads back as itself.
#include <cstdint>
#include <cstdlib>

#include "core/io/documents/journal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  const auto end = read_journal({reinterpret_cast<const char*>(data), size});
  if (!end) return 0;
  const auto again = read_journal(journal_line(end->last));
  if (!again || !(again->last == end->last)) std::abort();
  return 0;
}
