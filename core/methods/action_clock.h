// One lane working through its actions: when each may start, when what it leaves is done.
#pragma once

#include <algorithm>

#include "core/methods/method.h"

namespace trainyard {

struct ActionClock {
  Duration free{};      // its last action and what blocks are done
  Duration computed{};  // its last computation is

  struct Ran {
    Duration ready{}, start{}, done{};
    Duration lost{};  // by its own gradients, to the computation that they are reduced beside
  };
  /// What reductions of gradients an action runs beside: `stream` is when the device's is idle
  /// again, `others` those that begin with the action.
  struct Reducing {
    double contention = 0;
    Duration* stream = nullptr;
    Duration others{};
  };
  /// One action: `compute` is its computation, slowed down by what shares the device; `input` when
  /// what it needs is there; `arriving` weights of the last update beside a first forward;
  /// `weights` when the device's gather stream is idle again.
  Ran run(const ActionTime& t, Duration compute, Duration input, const LayerTraffic& arriving,
          Duration& weights, const Reducing& reducing) {
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
    Duration beside = ran.ready + t.beside;
    if (reducing.contention > 0) slow_down(ran, compute, gathered, weights, beside, reducing);
    // What blocks shares a stream with what runs beside, and comes after it.
    free = std::max(std::max(computed, beside) + t.blocking, gathered);
    ran.done = free;
    return ran;
  }

  // Computation and traffic slow each other down while both are there: until the shorter is done.
  void slow_down(Ran& ran, Duration compute, Duration& gathered, Duration& weights,
                 Duration& beside, const Reducing& r) {
    const Duration reduced =
        r.others > Duration{} ? std::max(*r.stream, ran.ready) + r.others : *r.stream;
    const auto longer = [&](Duration end) {
      const Duration both = std::clamp(end - ran.start, Duration{}, compute);
      return Duration{static_cast<Duration::rep>(r.contention * static_cast<double>(both.count()))};
    };
    computed += longer(std::max({gathered, beside, reduced}));
    if (gathered > ran.start) weights = gathered += longer(gathered);
    beside += longer(beside);
    (r.others > Duration{} ? ran.lost : *r.stream) += longer(reduced);
  }

  /// Gradients of a backward that has run, on the device's reduce stream; returns when they are
  /// reduced. Not overlapped, they hold up the lane's next action, if there is one.
  Duration reduce(const LayerTraffic& traffic, bool overlapped, const Ran& backward, bool last,
                  Duration& stream) {
    stream = std::max(stream, overlapped ? backward.ready : backward.done) + traffic.others +
             backward.lost;
    stream = std::max(stream, backward.done) + traffic.last;
    if (!overlapped && !last) free = std::max(free, stream);
    return stream;
  }
};

}  // namespace trainyard
