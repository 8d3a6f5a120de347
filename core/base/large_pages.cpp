#include "core/base/large_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace trainyard {

void ask_for_large_pages(void* at, std::size_t bytes) {
  constexpr std::size_t kSmall = 4096;
  constexpr std::size_t kLarge = std::size_t{2} << 20;
  if (bytes < kLarge) return;
  // madvise() takes whole pages only.
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(at) & (kSmall - 1);
  const std::size_t whole = (bytes - skipped) & ~(kSmall - 1);
  static_cast<void>(::madvise(static_cast<char*>(at) + skipped, whole, MADV_HUGEPAGE));
}

}  // namespace trainyard
