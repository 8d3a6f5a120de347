// One lane working through its actions: when each may start, when what it leaves is done.
#pragma once

#include <algorithm>

#include "core/methods/method.h"

namespace trainyard {

struct ActionClock {
  /// Traffic on a link from begin to end; `work` is how long it takes with the link to itself.
  struct Span {
    Duration begin{}, end{}, work{};
    static Span of(Duration begin, Duration work) { return {begin, begin + work, work}; }
  };
  /// Two that share a link: while both are there each has half of it, so both end later by the work
  /// of the one that is done first. Returns by how much.
  static Duration share(Span& a, Span& b) {
    const Duration there = std::min(a.end, b.end) - std::max(a.begin, b.begin),
                   both = std::max(Duration{}, std::min({there, a.work, b.work}));
    a.end += both, b.end += both;
    return both;
  }

  Duration free{};       // its last action and what blocks are done
  Duration computed{};   // its last computation is
  Duration unblocked{};  // what blocked after it is
  Span blocking{};       // the part of that on the links of weights and gradients

  struct Ran {
    Duration ready{}, start{}, done{};
    Duration lost{};  // by its own gradients, to what they are reduced beside
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
  /// `weights` when the device's gather stream is idle again. Weights, gradients and what blocks or
  /// runs beside on the same links share them.
  Ran run(const ActionTime& t, Duration compute, Duration input, const LayerTraffic& arriving,
          Duration& weights, const Reducing& reducing) {
    Ran ran;
    const Duration leading = t.lead + arriving.last, following = t.gather + arriving.others;
    Span lead, gather;
    if (leading + following > Duration{}) {
      // They are sent for when the computation before ends, beside what blocks after that.
      lead = Span::of(std::max(weights, computed), leading);
      wait_for(lead);
      gather = Span::of(lead.end, following);
      wait_for(gather);
    }
    ran.ready = ran.start = std::max(free, input);
    if (leading + following > Duration{}) {
      const Duration later = share_with_gradients(lead, ran, reducing);
      gather.begin += later, gather.end += later;
      ran.start = std::max(ran.ready, lead.end);
      share_with_gradients(gather, ran, reducing);
    }
    computed = ran.start + compute;
    Span beside = Span::of(ran.ready, t.beside);
    beside.end += share_part(t.beside_shared, beside.begin, gather, ran, reducing);
    if (reducing.contention > 0) slow_down(ran, compute, gather.end, beside.end, reducing);
    // What blocks shares a stream with what runs beside, and comes after it.
    const Duration then = std::max(computed, beside.end);
    const Duration later = share_part(t.blocking_shared, then, gather, ran, reducing);
    blocking = {then, then + t.blocking_shared + later, t.blocking_shared};
    unblocked = then + t.blocking + later;
    if (leading + following > Duration{}) weights = gather.end;
    ran.done = free = std::max(unblocked, gather.end);
    return ran;
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

 private:
  // Weights beside what blocks after the computation before: the lane goes on later.
  void wait_for(Span& weights) {
    unblocked += share(weights, blocking);
    free = std::max(free, unblocked);
  }

  // With reductions of actions before this one, then with those that begin with it. Returns by how
  // much it ends later.
  static Duration share_with_gradients(Span& other, Ran& ran, const Reducing& r) {
    if (r.stream == nullptr || other.work == Duration{}) return {};
    Span before{Duration{}, *r.stream, *r.stream};
    Duration later = share(other, before);
    *r.stream = before.end;
    if (r.others == Duration{}) return later;
    Span own = Span::of(std::max(before.end, ran.ready), r.others);
    own.end += ran.lost;
    const Duration both = share(other, own);
    ran.lost += both;
    return later + both;
  }

  // The part of an action's traffic that shares the links with weights and with gradients.
  static Duration share_part(Duration work, Duration begin, Span& weights, Ran& ran,
                             const Reducing& r) {
    if (work == Duration{}) return {};
    Span part = Span::of(begin, work);
    const Duration later = share(part, weights);
    return later + share_with_gradients(part, ran, r);
  }

  // Computation and traffic slow each other down while both are there: until the shorter is done.
  void slow_down(Ran& ran, Duration compute, Duration& gathered, Duration& beside,
                 const Reducing& r) {
    const Duration reduced =
        r.others > Duration{} ? std::max(*r.stream, ran.ready) + r.others + ran.lost : *r.stream;
    const auto longer = [&](Duration end) {
      const Duration both = std::clamp(end - ran.start, Duration{}, compute);
      return Duration{static_cast<Duration::rep>(r.contention * static_cast<double>(both.count()))};
    };
    computed += longer(std::max({gathered, beside, reduced}));
    if (gathered > ran.start) gathered += longer(gathered);
    beside += longer(beside);
    (r.others > Duration{} ? ran.lost : *r.stream) += longer(reduced);
  }
};

}  // namespace trainyard
