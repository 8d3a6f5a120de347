#include "core/methods/closed_form.h"

#include <algorithm>
#include <cassert>

#include "core/methods/catalogue.h"
#include "core/methods/recurrence.h"

namespace trainyard {
namespace {

PipelineEstimate follow_for(const Method& m, const Params& params, ScheduleShape shape,
                            int microbatches, const PipelineTimes& times, bool holdings) {
  shape.microbatches = microbatches;
  return follow(m.order(shape, params), shape, times, holdings);
}

// After some rounds every further round of p microbatches takes the same time: that is the pace.
PipelineEstimate paced(const Method& m, const Params& params, const ScheduleShape& shape,
                       const PipelineTimes& times, int p, int rounds, bool holdings) {
  const int all = shape.microbatches;
  const int rounds_left_out = std::max(0, (all - rounds * p) / p);
  const int some = all - rounds_left_out * p;
  PipelineEstimate found = follow_for(m, params, shape, some, times, holdings);
  if (rounds_left_out == 0) return found;
  const PipelineEstimate before = follow_for(m, params, shape, some - p, times, false);
  const auto carry_on = [&](Duration& later, Duration earlier) {
    later += rounds_left_out * (later - earlier);
  };
  carry_on(found.span, before.span);
  for (std::size_t s = 0; s < found.ends.size(); ++s) {
    carry_on(found.ends[s], before.ends[s]);
    carry_on(found.reduced[s], before.reduced[s]);
  }
  return found;
}

PipelineEstimate paced(const Method& m, const ScheduleShape& shape, const PipelineTimes& times) {
  return paced(m, {}, shape, times, shape.devices, 3, false);
}

// Equal stages with nothing but computation and what blocks it, and free transfers.
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

// Around a known span: backwards leave the pipeline one stage after the other.
PipelineEstimate around(Duration span, const PipelineTimes& times) {
  PipelineEstimate found;
  found.span = span;
  Duration leaves{};
  for (std::size_t s = 0; s < times.backward.size(); ++s) {
    const Duration backward = times.backward[s].compute + times.backward[s].blocking,
                   ends = span - leaves;
    leaves += backward;
    Duration reduced = ends;
    if (!times.reduce.empty()) {
      const LayerTraffic& traffic = times.reduce[s];
      reduced =
          std::max(ends, (times.reduce_overlapped ? ends - backward : ends) + traffic.others) +
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

PipelineEstimate estimate_pipeline(const Method& m, const Params& params,
                                   const ScheduleShape& shape, const PipelineTimes& times) {
  if (m.closed_form) return m.closed_form(shape, times);
  if (m.settles) {
    ScheduleShape settled = shape;
    settled.steps = m.settles(shape, params) + 1;
    return follow(m.order(settled, params), settled, times);
  }
  constexpr int kRounds = 5;  // fills twice as long as 1F1B's settle too
  const int p = shape.devices, round = (3 + p) / p * p;
  return paced(m, params, shape, times, round, kRounds, true);
}

PipelineEstimate gpipe_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  static const Method schedule = gpipe();
  PipelineEstimate found =
      equal_stages(times) ? around((shape.microbatches + shape.stages - 1) * round_of(times), times)
                          : paced(schedule, shape, times);
  found.live.assign(times.forward.size(), shape.microbatches);
  found.live_for_weight.clear();
  return found;
}

PipelineEstimate one_f_one_b_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  static const Method schedule = one_f_one_b();
  PipelineEstimate found =
      equal_stages(times) ? around((shape.microbatches + shape.stages - 1) * round_of(times), times)
                          : paced(schedule, shape, times);
  found.live.clear(), found.live_for_weight.clear();
  for (int s = 0; s < shape.stages; ++s)
    found.live.push_back(std::min(shape.microbatches, shape.stages - s));
  return found;
}

PipelineEstimate interleaved_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  static const Method schedule = interleaved_1f1b();
  const int p = shape.devices, chunks = shape.stages / p, m = shape.microbatches;
  PipelineEstimate found = equal_stages(times)
                               ? around((m * chunks + p - 1) * round_of(times), times)
                               : paced(schedule, shape, times);
  found.live.clear(), found.live_for_weight.clear();
  for (int s = 0; s < shape.stages; ++s) {
    const int rank = s % p, chunk = s / p;
    // Forwards before the first backward ends: the warm-up and one more, p microbatches of a chunk
    // at a time.
    const int ahead = std::min(m * chunks, 2 * (p - rank - 1) + (chunks - 1) * p + 1);
    const int group = p * chunks;
    found.live.push_back(ahead / group * p + std::clamp(ahead % group - chunk * p, 0, p));
  }
  return found;
}

}  // namespace trainyard
