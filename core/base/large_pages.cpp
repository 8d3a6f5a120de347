#include "core/base/large_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace trainyard {

void ask_for_large_pages(const void* at, std::size_t bytes) {
  constexpr std::uintptr_t kSmall = 4096;
  constexpr std::size_t kLarge = std::size_t{2} << 20;
  if (bytes < kLarge) return;
  // Whole pages of it only.
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t begin = (first + kSmall - 1) & ~(kSmall - 1);
  const std::uintptr_t end = (first + bytes) & ~(kSmall - 1);
  static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

}  // namespace trainyard
