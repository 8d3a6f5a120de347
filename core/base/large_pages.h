// This file requests large memory pages for arrays of many megabytes.
#pragma once

#include <cstddef>

namespace trainyard {

/// Asks the system to back an array that nobody has written to yet with 2 MiB pages: faulting in a
/// large array by 4 KiB pages can take longer than filling it. This is only a hint that some
/// machines ignore; nothing else depends on it.
void ask_for_large_pages(void* at, std::size_t bytes);

}  // namespace trainyard
