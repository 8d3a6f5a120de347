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
  Block block{{}, bytes};
  if (const auto found = spare_.find(bytes.value);
      found != spare_.end() && !found->second.empty()) {
    block.memory = std::move(found->second.back());
    found->second.pop_back();
    spare_bytes_ -= bytes;
  } else {
    if (held_ + spare_bytes_ + bytes > most_) spare_.clear(), spare_bytes_ = {};
    block.memory = std::make_unique_for_overwrite<std::byte[]>(size);
  }
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
  const Bytes bytes = found->second.bytes;
  held_ -= bytes;
  spare_bytes_ += bytes;
  spare_[bytes.value].push_back(std::move(found->second.memory));
  blocks_.erase(found);
}

}  // namespace trainyard
