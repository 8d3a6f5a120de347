// Links that are slower than memory: how long what is moved at once has to look as if it were under
// way.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/program/program.h"

namespace trainyard {

class SlowLinks {
 public:
  /// bytes_per_second: of each device's link and direction; 0 or less = at once.
  explicit SlowLinks(double bytes_per_second) : rate_(bytes_per_second) {}
  bool slow() const { return rate_ > 0; }
  /// All of them free from 0 on.
  void reset(std::size_t devices);
  /// When a transfer, or one member's part of a collective by its ring, that could begin at `from`
  /// is over: a link carries one after the other. From any thread.
  Instant reserve(std::size_t device, const Task&, std::int64_t ranks, Instant from);

 private:
  double rate_;
  std::vector<std::atomic<std::int64_t>> free_;  // by device
};

}  // namespace trainyard
