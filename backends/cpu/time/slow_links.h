// SlowLinks emulate links slower than memory: data moves at once, and the links say until when it
// has to appear in transit.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/program/program.h"

namespace trainyard {

class SlowLinks {
 public:
  /// bytes_per_second: the rate of each device's link in each direction; 0 or less = infinitely
  /// fast.
  explicit SlowLinks(double bytes_per_second) : rate_(bytes_per_second) {}
  bool slow() const { return rate_ > 0; }
  /// Makes all links free from time 0 on.
  void reset(std::size_t devices);
  /// The time at which a transfer, or one member's part of a ring collective, ends if it could
  /// begin at `from`; a link carries one at a time. May be called from any thread.
  Instant reserve(std::size_t device, const Task&, std::int64_t ranks, Instant from);

 private:
  double rate_;
  std::vector<std::atomic<std::int64_t>> free_;  // by device
};

}  // namespace trainyard
