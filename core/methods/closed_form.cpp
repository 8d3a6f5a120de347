#include "core/methods/closed_form.h"

#include <algorithm>
#include <cassert>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

constexpr Duration kUnknown{-1};

// One device while an order is followed.
struct DeviceClock {
  const Lane* lane = nullptr;
  std::size_t next = 0;
  Duration free{};                           // its last action and what blocks are done
  Duration computed{};                       // its last computation is
  Duration weights{};                        // its gather stream is idle again
  Duration forward_link{}, backward_link{};  // its ports to the neighbours are
};

class Recurrence {
 public:
  Recurrence(const Order& order, const ScheduleShape& shape, const PipelineTimes& times)
      : shape_(shape), times_(times), stages_(static_cast<std::size_t>(shape.stages)) {
    const std::size_t cells = stages_ * static_cast<std::size_t>(shape.microbatches);
    forward_.assign(cells, kUnknown), backward_.assign(cells, kUnknown);
    devices_.resize(static_cast<std::size_t>(shape.devices));
    for (const Lane& lane : order.lanes) devices_[lane.device.value].lane = &lane;
    done_.assign(stages_, 0), arrived_.assign(stages_, false);
    found_.ends.resize(stages_), found_.reduced.resize(stages_);
    reducing_.resize(stages_);
  }

  PipelineEstimate run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (DeviceClock& device : devices_)
        while (device.lane != nullptr && device.next < device.lane->actions.size() && act(device))
          moved = true;
    }
    for (std::size_t s = 0; s < stages_; ++s) {
      found_.span = std::max(found_.span, found_.ends[s]);
      found_.reduced[s] = std::max(found_.reduced[s], found_.ends[s]);
    }
    return std::move(found_);
  }

 private:
  // Takes the lane's next action if its input is there.
  bool act(DeviceClock& device) {
    const Action& a = device.lane->actions[device.next];
    const bool forward = a.phase == Phase::Forward;
    const std::size_t s = a.stage.value, at = cell(s, a.microbatch);
    Duration input{};
    if (forward && s > 0) input = forward_[at - 1];
    if (!forward && s + 1 < stages_) input = backward_[at + 1];
    if (input == kUnknown) return false;
    const ActionTime& t = (forward ? times_.forward : times_.backward)[s];

    Duration lead = t.lead, gather = t.gather;
    if (forward && !arrived_[s] && !times_.arrive.empty()) {
      arrived_[s] = true;
      lead += times_.arrive[s].last, gather += times_.arrive[s].others;
    }
    const Duration ready = std::max(device.free, input);
    Duration start = ready, gathered{};
    if (lead + gather > Duration{}) {
      gathered = std::max(device.weights, device.computed) + lead;
      start = std::max(ready, gathered);
      device.weights = gathered += gather;
    }
    device.computed = start + t.compute;
    device.free = std::max({device.computed + t.blocking, ready + t.beside, gathered});
    const Duration done = device.free;
    if (!forward) reduce(device, s, ready, done);
    send(device, forward, s, at, done);
    ++device.next;
    return true;
  }

  // The gradients of one backward, which began when it was `ready` and ended when `done`.
  void reduce(DeviceClock& device, std::size_t s, Duration ready, Duration done) {
    const bool last = ++done_[s] == shape_.microbatches;
    found_.ends[s] = done;
    if ((!last && !times_.reduce_every) || times_.reduce.empty()) return;
    const LayerTraffic& traffic = times_.reduce[s];
    Duration& stream = reducing_[s % devices_.size()];
    stream = std::max(stream, times_.reduce_overlapped ? ready : done) + traffic.others;
    stream = std::max(stream, done) + traffic.last;
    found_.reduced[s] = stream;
    if (!times_.reduce_overlapped && !last) device.free = std::max(device.free, stream);
  }

  // When the neighbour has the result: the ports work in order, one message at a time.
  void send(DeviceClock& device, bool forward, std::size_t s, std::size_t at, Duration done) {
    const bool goes = devices_.size() > 1 && (forward ? s + 1 < stages_ : s > 0);
    Duration& link = forward ? device.forward_link : device.backward_link;
    if (goes) link = done = std::max(done, link) + times_.transfer;
    (forward ? forward_ : backward_)[at] = done;
  }

  std::size_t cell(std::size_t s, std::int32_t microbatch) const {
    return static_cast<std::size_t>(microbatch) * stages_ + s;
  }

  const ScheduleShape& shape_;
  const PipelineTimes& times_;
  std::size_t stages_;
  std::vector<DeviceClock> devices_;
  std::vector<Duration> forward_, backward_, reducing_;  // when a stage's result is with its
                                                         // neighbour
  std::vector<int> done_;
  std::vector<bool> arrived_;
  PipelineEstimate found_;
};

PipelineEstimate follow_for(const Method& m, ScheduleShape shape, int microbatches,
                            const PipelineTimes& times) {
  shape.microbatches = microbatches;
  return follow(m.order(shape, {}), shape, times);
}

// After some rounds every further p microbatches take the same time: that is the pace.
PipelineEstimate paced(const Method& m, const ScheduleShape& shape, const PipelineTimes& times) {
  const int p = shape.devices, all = shape.microbatches;
  constexpr int kRounds = 3;
  const int rounds_left_out = std::max(0, (all - kRounds * p) / p);
  const int some = all - rounds_left_out * p;
  PipelineEstimate found = follow_for(m, shape, some, times);
  if (rounds_left_out == 0) return found;
  const PipelineEstimate before = follow_for(m, shape, some - p, times);
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

PipelineEstimate follow(const Order& order, const ScheduleShape& shape,
                        const PipelineTimes& times) {
  return Recurrence(order, shape, times).run();
}

PipelineEstimate gpipe_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  static const Method schedule = gpipe();
  PipelineEstimate found =
      equal_stages(times) ? around((shape.microbatches + shape.stages - 1) * round_of(times), times)
                          : paced(schedule, shape, times);
  found.live.assign(times.forward.size(), shape.microbatches);
  return found;
}

PipelineEstimate one_f_one_b_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  static const Method schedule = one_f_one_b();
  PipelineEstimate found =
      equal_stages(times) ? around((shape.microbatches + shape.stages - 1) * round_of(times), times)
                          : paced(schedule, shape, times);
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
