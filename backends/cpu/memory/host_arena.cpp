#include "backends/cpu/memory/host_arena.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {

std::byte* HostArena::take(Bytes bytes) {
  if (limit_.value > 0 && held_ + bytes > limit_)
    throw Error(Error::Kind::Internal, name_ + " is to hold " + to_text(held_ + bytes) +
                                           ", and its plan says " + to_text(limit_));
  const auto size = static_cast<std::size_t>(bytes.value);
  Block block{std::make_unique_for_overwrite<std::byte[]>(size), bytes};
  std::byte* const first = block.memory.get();
  // All ones is NaN in every floating-point format and no valid index.
  if (poison_) std::memset(first, 0xFF, size);
  blocks_.emplace(first, std::move(block));
  held_ += bytes;
  most_ = std::max(most_, held_);
  return first;
}

void HostArena::give_back(std::byte* block) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end())
    throw Error(Error::Kind::Internal, name_ + " does not hold what is given back");
  held_ -= found->second.bytes;
  blocks_.erase(found);
}

}  // namespace trainyard
