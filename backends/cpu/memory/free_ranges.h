// FreeRanges tracks which addresses of a range are free, as intervals that merge with free
// neighbours. Space is taken at a given offset or in the smallest interval that fits (best fit;
// Knuth, TAOCP 1, 2.5).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace trainyard {

class FreeRanges {
 public:
  /// Initially all of [0, size) is free. Offsets and sizes must be multiples of a unit that the
  /// caller chooses.
  explicit FreeRanges(std::int64_t size);

  /// Takes [offset, offset + size) if all of it is free.
  bool take_at(std::int64_t offset, std::int64_t size);
  /// Takes the lowest of the smallest free intervals that fit; nullopt if none does.
  std::optional<std::int64_t> take(std::int64_t size);
  /// Returns false and changes nothing if a part of it is already free.
  bool give_back(std::int64_t offset, std::int64_t size);

  std::int64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  std::size_t intervals() const { return by_offset_.size(); }

 private:
  using ByOffset = std::map<std::int64_t, std::int64_t>;  // offset to size
  void insert(std::int64_t offset, std::int64_t size);
  void erase(ByOffset::iterator);
  void carve(ByOffset::iterator, std::int64_t offset, std::int64_t size);

  ByOffset by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // size and offset
};

}  // namespace trainyard
