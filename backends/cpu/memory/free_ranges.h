// Which addresses of a range are free: intervals that merge with their neighbours when they come
// back, taken where asked or in the smallest one that fits (best fit; Knuth, TAOCP 1, 2.5).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace trainyard {

class FreeRanges {
 public:
  /// [0, size) is free. Offsets and sizes stay multiples of whatever the caller's are.
  explicit FreeRanges(std::int64_t size);

  /// Takes [offset, offset + size) if all of it is free.
  bool take_at(std::int64_t offset, std::int64_t size);
  /// The lowest of the smallest free intervals that hold it; nullopt where none does.
  std::optional<std::int64_t> take(std::int64_t size);
  /// False, and nothing changes, where a part of it was free already.
  bool give_back(std::int64_t offset, std::int64_t size);

  std::int64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  std::size_t intervals() const { return by_offset_.size(); }

 private:
  using ByOffset = std::map<std::int64_t, std::int64_t>;  // size
  void insert(std::int64_t offset, std::int64_t size);
  void erase(ByOffset::iterator);
  void carve(ByOffset::iterator, std::int64_t offset, std::int64_t size);

  ByOffset by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // and offset
};

}  // namespace trainyard
