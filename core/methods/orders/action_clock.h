// An ActionClock is one lane that works through its actions: it computes when each action may start
// and when its communication ends. It is the one place for that: the recurrence moves its lanes by
// it, and so does 1F1B's pass without an order (closed_form.h).
#pragma once

#include <algorithm>

#include "core/methods/method.h"

namespace trainyard {

struct ActionClock {
  /// A Span is traffic on a link from begin to end; `work` is its duration if it has the link to
  /// itself.
  struct Span {
    Duration begin{}, end{}, work{};
    static Span of(Duration begin, Duration work) { return {begin, begin + work, work}; }
  };
  /// Two spans share a link: while both are active each has half of the bandwidth, so both end
  /// later by the work of the one that finishes first. Returns by how much.
  static Duration share(Span& a, Span& b) {
    const Duration there = std::min(a.end, b.end) - std::max(a.begin, b.begin),
                   both = std::max(Duration{}, std::min({there, a.work, b.work}));
    a.end += both, b.end += both;
    return both;
  }

  Duration free{};       // when its last action and what blocks after it are done
  Duration computed{};   // when its last computation is done
  Duration unblocked{};  // when the blocking communication after it is done
  Span blocking{};  // the part of the blocking communication on the links of weights and gradients

  struct Ran {
    Duration ready{}, start{}, done{};
    Duration lost{};  // delay that its own gradients cause to the communication beside their
                      // reduction
  };
  /// Reducing describes the gradient reductions beside which an action runs: `stream` is when the
  /// device's reduce stream is idle again, `others` is the work of reductions that begin with the
  /// action.
  struct Reducing {
    double contention = 0;
    Duration* stream = nullptr;
    Duration others{};
  };
  /// Runs one action. `compute` is its computation, slowed down by what shares the device; `input`
  /// is when its input is there; `arriving` is the weights of the last update during a first
  /// forward; `weights` is when the device's gather stream is idle again. Weights, gradients, and
  /// blocking or concurrent communication on the same links share their bandwidth.
  Ran run(const ActionTime& t, Duration compute, Duration input, const LayerTraffic& arriving,
          Duration& weights, const Reducing& reducing) {
    Ran ran;
    const Duration leading = t.lead + arriving.last, following = t.gather + arriving.others;
    Span lead, gather;
    if (leading + following > Duration{}) {
      // Their gather starts when the previous computation ends, beside the blocking communication
      // after that.
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
    // Blocking communication uses the same stream as concurrent communication and comes after it.
    const Duration then = std::max(computed, beside.end);
    const Duration later = share_part(t.blocking_shared, then, gather, ran, reducing);
    blocking = {then, then + t.blocking_shared + later, t.blocking_shared};
    unblocked = then + t.blocking + later;
    if (leading + following > Duration{}) weights = gather.end;
    ran.done = free = std::max(unblocked, gather.end);
    return ran;
  }

  /// Reduces the gradients of a backward that has run on the device's reduce stream, and returns
  /// when they are reduced. Unless overlapped they delay the lane's next action, if there is one.
  Duration reduce(const LayerTraffic& traffic, bool overlapped, const Ran& backward, bool last,
                  Duration& stream) {
    stream = std::max(stream, overlapped ? backward.ready : backward.done) + traffic.others +
             backward.lost;
    stream = std::max(stream, backward.done) + traffic.last;
    if (!overlapped && !last) free = std::max(free, stream);
    return stream;
  }

 private:
  // Weights that are gathered beside the previous action's blocking communication slow it down, so
  // the lane continues later.
  void wait_for(Span& weights) {
    unblocked += share(weights, blocking);
    free = std::max(free, unblocked);
  }

  // Shares links first with reductions of earlier actions, then with those that begin with this
  // one. Returns the delay of `other`.
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

  // Shares the part of an action's communication that uses the links of weights and gradients.
  static Duration share_part(Duration work, Duration begin, Span& weights, Ran& ran,
                             const Reducing& r) {
    if (work == Duration{}) return {};
    Span part = Span::of(begin, work);
    const Duration later = share(part, weights);
    return later + share_with_gradients(part, ran, r);
  }

  // Computation and communication slow each other down while both run, that is, until the shorter
  // is done.
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
