// A TraceMeasure measures what a trace covers while its events are read, and keeps none of them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/io/traces/trace_extent.h"

namespace trainyard {

/// Returns 7 for "ProfilerStep#7", the form in which PyTorch's profiler marks steps.
std::optional<std::int64_t> step_number(std::string_view name);

/// Steps that are marked in one process by number, each from its first mark's beginning to its last
/// mark's end.
using MarkedSteps = std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>;

/// Returns what streams mark, which is closest to the work, else what the host marks. PyTorch's
/// mark on a stream ends with the last kernel that its own thread launched, and backward has a
/// thread of its own, so such a step lasts until the next number begins; where that is not known,
/// as long as the host marks it, if that is longer.
MarkedSteps whole_steps(MarkedSteps of_streams, const MarkedSteps& of_host);

/// Times are in ns by the trace's own clock, within kFarthestTime.
class TraceMeasure {
 public:
  void span(std::int64_t from, std::int64_t to) { ++spans_, time(from, to); }
  void time(std::int64_t from, std::int64_t to);
  /// stream: the step is marked on a device, which takes precedence over marks on the host.
  void step(std::int64_t number, bool stream, std::int64_t from, std::int64_t to);
  /// Times that are years away from most others are left out.
  TraceExtent extent(std::uint64_t events, Bytes text) const;

 private:
  // Events are counted by their beginnings, in stretches of 208 days: a clock that restarted
  // produces several stretches.
  struct Stretch {
    std::uint64_t count = 0;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
  };
  std::map<std::int64_t, Stretch> stretches_;
  MarkedSteps steps_of_streams_, steps_of_host_;
  std::uint64_t spans_ = 0;
};

}  // namespace trainyard
