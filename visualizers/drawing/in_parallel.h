// Work that falls into parts which do not know of each other, on all processors.
#pragma once

#include <cstddef>
#include <functional>

namespace trainyard {

/// Calls work(0) ... work(count - 1), each once, in any order and several at a time; returns when
/// all are done. Blocks. An exception of one of them is thrown here.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace trainyard
