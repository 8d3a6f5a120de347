// One lane working through its actions: when each may start, when what it leaves is done.
#pragma once

#include <algorithm>

#include "core/methods/method.h"

namespace trainyard {

struct LaneClock {
  Duration free{};      // its last action and what blocks are done
  Duration computed{};  // its last computation is

  struct Ran {
    Duration ready{}, start{}, done{};
  };
  /// One action: `compute` is its computation, slowed down by what shares the device; `input` when
  /// what it needs is there; `arriving` weights of the last update beside a first forward;
  /// `weights` when the device's gather stream is idle again.
  Ran run(const ActionTime& t, Duration compute, Duration input, const LayerTraffic& arriving,
          Duration& weights) {
    Ran ran;
    const Duration lead = t.lead + arriving.last, gather = t.gather + arriving.others;
    ran.ready = ran.start = std::max(free, input);
    Duration gathered{};
    if (lead + gather > Duration{}) {
      gathered = std::max(weights, computed) + lead;
      ran.start = std::max(ran.ready, gathered);
      weights = gathered += gather;
    }
    computed = ran.start + compute;
    // What blocks shares a stream with what runs beside, and comes after it.
    free = std::max(std::max(computed, ran.ready + t.beside) + t.blocking, gathered);
    ran.done = free;
    return ran;
  }

  /// Gradients of a backward that has run, on the device's reduce stream; returns when they are
  /// reduced. Not overlapped, they hold up the lane's next action, if there is one.
  Duration reduce(const LayerTraffic& traffic, bool overlapped, const Ran& backward, bool last,
                  Duration& stream) {
    stream = std::max(stream, overlapped ? backward.ready : backward.done) + traffic.others;
    stream = std::max(stream, backward.done) + traffic.last;
    if (!overlapped && !last) free = std::max(free, stream);
    return stream;
  }
};

}  // namespace trainyard
