// A HostArena is the memory of a host that one device uses, with the limit that its plan states. It
// must be used by one thread at a time; the contents belong to its users. What is given back stays
// for the next block of its size, as pinned memory does: pages that the system hands out and zeroes
// anew took longer than all copies of a step. Together they are never more than most().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

class HostArena {
 public:
  /// limit: the most bytes held at once; 0 = only the machine's limit. name: "the host of d1", for
  /// messages.
  HostArena(std::string name, Bytes limit) : name_(std::move(name)), limit_(limit) {}

  /// A block of so many bytes, not cleared. Throws Error{Internal} beyond the limit, because the
  /// plan was said to need no more.
  std::byte* take(Bytes);
  void give_back(std::byte* block);

  Bytes most() const { return most_; }          // held at once
  Bytes spare() const { return spare_bytes_; }  // given back and not returned to the system
  /// Overwrites blocks when they are taken, so that reads of what has not come yet show up.
  void poison(bool on) { poison_ = on; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    Bytes bytes;
  };
  const std::string name_;
  const Bytes limit_;
  Bytes held_{}, most_{}, spare_bytes_{};
  std::unordered_map<std::byte*, Block> blocks_;
  std::unordered_map<std::int64_t, std::vector<std::unique_ptr<std::byte[]>>> spare_;  // by size
  bool poison_ = false;
};

}  // namespace trainyard
