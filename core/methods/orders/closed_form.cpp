#include "core/methods/orders/closed_form.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/orders/action_clock.h"
#include "core/methods/orders/forward_only.h"
#include "core/methods/orders/held_moments.h"
#include "core/methods/orders/recurrence.h"

namespace trainyard {
namespace {

PipelineEstimate follow_for(const Method& m, const Params& params, ScheduleShape shape,
                            int microbatches, const PipelineTimes& times, bool holdings) {
  shape.microbatches = microbatches;
  return follow(order_of(m, params, shape), shape, times, {.holdings = holdings});
}

// Returns a lower bound of a device's time for a round of that many microbatches: the computation
// of the busiest device with the communication that blocks it. Two passes that run together
// (`pairs`) take half of that at least.
Duration busiest_round(const ScheduleShape& shape, const PipelineTimes& t, int microbatches,
                       bool pairs = false) {
  std::vector<Duration> busy(static_cast<std::size_t>(shape.devices));
  const auto one = [](const ActionTime& a) { return std::max(a.compute, a.beside) + a.blocking; };
  const bool split = !t.backward_input.empty();
  for (std::uint32_t s = 0; s < t.forward.size(); ++s)
    for (int copy = 0; copy < copies(shape.placement); ++copy)
      busy[device_of(StageId{s}, shape.devices, shape.stages, shape.placement, copy).value] +=
          one(t.forward[s]) +
          (split ? one(t.backward_input[s]) + one(t.backward_weight[s]) : one(t.backward[s]));
  return *std::max_element(busy.begin(), busy.end()) * microbatches / copies(shape.placement) /
         (pairs ? 2 : 1);
}

// Rounds of `round` microbatches are followed until the pipeline has settled.
struct Settling {
  int round = 1, rounds = 3;
  int left_out(int microbatches) const { return std::max(0, microbatches / round - rounds); }
};

// An order without a closed form also has fills twice as long as those of 1F1B.
Settling settling(int devices) { return {(3 + devices) / devices * devices, 5}; }

// After some rounds every further round takes the same time, never less than `floor`; the estimate
// is continued at that rate. `run` estimates a given number of microbatches.
template <class Run>
PipelineEstimate paced(int all, Settling settling, Duration floor, const Run& run) {
  const int rounds_left_out = settling.left_out(all), p = settling.round;
  const int some = all - rounds_left_out * p;
  PipelineEstimate found = run(some);
  if (rounds_left_out == 0) return found;
  const PipelineEstimate before = run(some - p);
  const auto carry_on = [&](Duration& later, Duration earlier) {
    later += rounds_left_out * std::max(floor, later - earlier);
  };
  carry_on(found.span, before.span);
  for (std::size_t s = 0; s < found.ends.size(); ++s) {
    carry_on(found.ends[s], before.ends[s]);
    carry_on(found.reduced[s], before.reduced[s]);
  }
  for (std::size_t d = 0; d < std::min(found.pairs.size(), before.pairs.size()); ++d) {
    PairedTime& later = found.pairs[d];
    const PairedTime& earlier = before.pairs[d];
    later.hidden += rounds_left_out * (later.hidden - earlier.hidden);
    later.forward += rounds_left_out * (later.forward - earlier.forward);
    later.backward += rounds_left_out * (later.backward - earlier.backward);
  }
  return found;
}

PipelineEstimate paced(const Method& m, const ScheduleShape& shape, const PipelineTimes& times) {
  const Duration floor = busiest_round(shape, times, shape.devices);
  return paced(shape.microbatches, {shape.devices}, floor, [&](int microbatches) {
    return follow_for(m, {}, shape, microbatches, times, false);
  });
}

// PipelineRank is one device of 1F1B.
struct PipelineRank {
  ActionClock clock;
  Duration weights{}, reduce{};    // when its gather and reduce streams are idle
  Duration forward{}, backward{};  // when its send ports to the next and the previous stage are
                                   // idle
};

// Returns whether stages are equal, have only computation and blocking communication, and transfers
// are free.
bool equal_stages(const PipelineTimes& t) {
  if (t.transfer > Duration{} || t.reduce_every || !t.arrive.empty()) return false;
  const auto same = [](const std::vector<ActionTime>& list) {
    return std::all_of(list.begin(), list.end(), [&](const ActionTime& a) {
      return a == list.front() && a.lead == Duration{} && a.gather == Duration{} &&
             a.beside == Duration{};
    });
  };
  return same(t.forward) && same(t.backward);
}

// Completes an estimate whose span is known: backwards leave the pipeline one stage after the
// other.
PipelineEstimate around(Duration span, const PipelineTimes& times) {
  PipelineEstimate found;
  found.span = span;
  // The last backward and the gradients reduced beside it slow each other down; every stage waits
  // for the stages after it.
  const auto lost = [&](std::size_t s) {
    if (times.reduce.empty() || !times.reduce_overlapped) return Duration{};
    const Duration both = std::min(times.reduce[s].others, times.backward[s].compute);
    return Duration{
        static_cast<Duration::rep>(times.contention * static_cast<double>(both.count()))};
  };
  Duration leaves{};
  for (std::size_t s = 0; s < times.backward.size(); ++s) found.span += lost(s);
  for (std::size_t s = 0; s < times.backward.size(); ++s) {
    const Duration backward = times.backward[s].compute + times.backward[s].blocking + lost(s),
                   ends = found.span - leaves;
    leaves += backward;
    Duration reduced = ends;
    if (!times.reduce.empty()) {
      const LayerTraffic& traffic = times.reduce[s];
      reduced = std::max(ends, (times.reduce_overlapped ? ends - backward + lost(s) : ends) +
                                   traffic.others) +
                traffic.last;
    }
    found.ends.push_back(ends), found.reduced.push_back(reduced);
  }
  return found;
}

Duration round_of(const PipelineTimes& t) {
  return t.forward.front().compute + t.forward.front().blocking + t.backward.front().compute +
         t.backward.front().blocking;
}

}  // namespace

// A stage runs w forwards before its first backward, one less than the stage before. Once all
// stages have run theirs, processing one forward and one backward per stage in turn, last stage
// first, finds every input ready. One pass over the actions is therefore enough, without an order.
PipelineEstimate follow_one_f_one_b(int microbatches, const PipelineTimes& times) {
  const auto p = times.forward.size(), n = static_cast<std::size_t>(microbatches);
  std::vector<PipelineRank> ranks(p);
  std::vector<Duration> arrived(p * n);  // when forwards arrive at the next stage
  PipelineEstimate found;
  found.ends.resize(p), found.reduced.resize(p);
  const auto send = [&](ActionClock& clock, Duration& port, Duration done) {
    port = std::max(done, port) + times.transfer;
    if (times.blocking_sends) clock.free = std::max(clock.free, port);
    return port;
  };
  const auto forward = [&](std::size_t s, std::size_t m) {
    PipelineRank& rank = ranks[s];
    const LayerTraffic arriving =
        m == 0 && !times.arrive.empty() ? times.arrive[s] : LayerTraffic{};
    const Duration input = s > 0 ? arrived[(s - 1) * n + m] : Duration{};
    const ActionTime& t = times.forward[s];
    const Duration done = rank.clock
                              .run(t, t.compute, input, arriving, rank.weights,
                                   {times.contention, &rank.reduce, Duration{}})
                              .done;
    if (s + 1 < p) arrived[s * n + m] = send(rank.clock, rank.forward, done);
  };
  const auto backward = [&](std::size_t s, Duration input, bool last) {
    PipelineRank& rank = ranks[s];
    const ActionTime& t = times.backward[s];
    ActionClock::Reducing beside{times.contention, &rank.reduce};
    if (!times.reduce.empty() && times.reduce_overlapped && (last || times.reduce_every))
      beside.others = times.reduce[s].others;
    const ActionClock::Ran ran = rank.clock.run(t, t.compute, input, {}, rank.weights, beside);
    found.ends[s] = ran.done;
    if (!times.reduce.empty() && (last || times.reduce_every))
      found.reduced[s] =
          rank.clock.reduce(times.reduce[s], times.reduce_overlapped, ran, last, rank.reduce);
    return s > 0 ? send(rank.clock, rank.backward, ran.done) : ran.done;
  };
  for (std::size_t s = 0; s < p; ++s)
    for (std::size_t m = 0; m < std::min(n, p - 1 - s); ++m) forward(s, m);
  for (std::size_t m = 0; m < n; ++m) {
    Duration input{};
    for (std::size_t s = p; s-- > 0;) {
      if (const std::size_t ahead = p - 1 - s; m + ahead < n) forward(s, m + ahead);
      input = backward(s, input, m + 1 == n);
    }
  }
  for (std::size_t s = 0; s < p; ++s) {
    found.span = std::max(found.span, found.ends[s]);
    found.reduced[s] = std::max(found.reduced[s], found.ends[s]);
  }
  return found;
}

PipelineEstimate estimate_pipeline(const Method& m, const Params& stated,
                                   const ScheduleShape& shape, const PipelineTimes& times) {
  // Fewer microbatches than the step has are followed below, and have the order of the whole step.
  const Params params = m.decide ? m.decide(shape, stated) : stated;
  // Formulas take every stage to have a backward.
  if (m.closed_form && times.host_copy.empty())
    return shape.forward_only > 0 ? follow_for(m, params, shape, shape.microbatches, times, true)
                                  : m.closed_form(shape, times);
  if (m.settles) {
    ScheduleShape settled = shape;
    settled.steps = m.settles(shape, params) + 1;
    return follow(m.order(settled, params), settled, times);
  }
  const Settling rounds = settling(shape.devices);
  bool holdings = true;
  const Duration floor =
      busiest_round(shape, times, rounds.round, has_pairs(order_of(m, params, shape)));
  return paced(shape.microbatches, rounds, floor, [&](int microbatches) {
    return follow_for(m, params, shape, microbatches, times, std::exchange(holdings, false));
  });
}

int settled_microbatches(const Method& m, int devices, int microbatches) {
  if (m.closed_form || m.settles) return microbatches;
  const Settling rounds = settling(devices);
  return microbatches - rounds.left_out(microbatches) * rounds.round;
}

PipelineEstimate gpipe_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  static const Method schedule = gpipe();
  PipelineEstimate found =
      equal_stages(times) ? around((shape.microbatches + shape.stages - 1) * round_of(times), times)
                          : paced(schedule, shape, times);
  found.live.assign(times.forward.size(), shape.microbatches);
  found.moments = moments_of(found.live, shape);
  return found;
}

PipelineEstimate one_f_one_b_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  PipelineEstimate found =
      equal_stages(times)
          ? around((shape.microbatches + shape.stages - 1) * round_of(times), times)
          : paced(shape.microbatches, {shape.devices}, busiest_round(shape, times, shape.devices),
                  [&](int microbatches) { return follow_one_f_one_b(microbatches, times); });
  found.live.clear();
  for (int s = 0; s < shape.stages; ++s)
    found.live.push_back(std::min(shape.microbatches, shape.stages - s));
  found.moments = moments_of(found.live, shape);
  return found;
}

PipelineEstimate interleaved_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  static const Method schedule = interleaved_1f1b();
  const int p = shape.devices, chunks = shape.stages / p, m = shape.microbatches;
  PipelineEstimate found = equal_stages(times)
                               ? around((m * chunks + p - 1) * round_of(times), times)
                               : paced(schedule, shape, times);
  found.live.clear();
  for (int s = 0; s < shape.stages; ++s) {
    const int rank = s % p, chunk = s / p;
    // This counts the forwards before the first backward ends: the warm-up and one more, p
    // microbatches of a chunk at a time.
    const int ahead = std::min(m * chunks, 2 * (p - rank - 1) + (chunks - 1) * p + 1);
    const int group = p * chunks;
    found.live.push_back(ahead / group * p + std::clamp(ahead % group - chunk * p, 0, p));
  }
  found.moments = moments_of(found.live, shape);
  return found;
}

}  // namespace trainyard
