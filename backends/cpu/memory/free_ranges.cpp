#include "backends/cpu/memory/free_ranges.h"

#include <iterator>

namespace trainyard {

FreeRanges::FreeRanges(std::int64_t size) { insert(0, size); }

bool FreeRanges::take_at(std::int64_t offset, std::int64_t size) {
  auto it = by_offset_.upper_bound(offset);
  if (it == by_offset_.begin()) return false;
  --it;
  if (offset + size > it->first + it->second) return false;
  carve(it, offset, size);
  return true;
}

std::optional<std::int64_t> FreeRanges::take(std::int64_t size) {
  const auto smallest = by_size_.lower_bound({size, 0});
  if (smallest == by_size_.end()) return std::nullopt;
  const std::int64_t offset = smallest->second;
  carve(by_offset_.find(offset), offset, size);
  return offset;
}

bool FreeRanges::give_back(std::int64_t offset, std::int64_t size) {
  const auto next = by_offset_.lower_bound(offset);
  if (next != by_offset_.end() && next->first < offset + size) return false;
  const bool joins_next = next != by_offset_.end() && next->first == offset + size;
  bool joins_last = false;
  auto last = next;
  if (next != by_offset_.begin()) {
    last = std::prev(next);
    if (last->first + last->second > offset) return false;
    joins_last = last->first + last->second == offset;
  }
  if (joins_next) {
    size += next->second;
    erase(next);
  }
  if (joins_last) {
    offset = last->first;
    size += last->second;
    erase(last);
  }
  insert(offset, size);
  return true;
}

void FreeRanges::insert(std::int64_t offset, std::int64_t size) {
  if (size == 0) return;
  by_offset_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void FreeRanges::erase(ByOffset::iterator it) {
  by_size_.erase({it->second, it->first});
  by_offset_.erase(it);
}

void FreeRanges::carve(ByOffset::iterator it, std::int64_t offset, std::int64_t size) {
  const auto [from, whole] = *it;
  erase(it);
  insert(from, offset - from);
  insert(offset + size, from + whole - (offset + size));
}

}  // namespace trainyard
