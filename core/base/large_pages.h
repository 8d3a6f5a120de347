// Memory for arrays of many megabytes.
#pragma once

#include <cstddef>

namespace trainyard {

/// Asks for the pages of an array that nobody has written to yet by twos of megabytes: to fault in
/// a large one by fours of kilobytes can take longer than to fill it. A wish, which not every
/// machine grants; nothing else depends on it.
void ask_for_large_pages(void* at, std::size_t bytes);

}  // namespace trainyard
