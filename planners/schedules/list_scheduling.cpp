#include "planners/schedules/list_scheduling.h"

#include <algorithm>
#include <cassert>

#include "planners/index.h"

namespace trainyard {
ListScheduler::ListScheduler(const Pipeline& pipeline)
    : pipeline_(pipeline), devices_(at(pipeline.devices)), done_(at(pipeline.stages) * 3) {
  const std::size_t cells = at(pipeline.stages) * at(pipeline.microbatches);
  for (auto& list : arrival_) list.resize(cells);
  for (auto& list : arrived_) list.resize(at(pipeline.stages));
  while (leaves_ < devices_.size()) leaves_ *= 2;
  tree_.resize(2 * leaves_);
  found_.lanes.steps.resize(pipeline.lane_length() * devices_.size());
  found_.ends.resize(devices_.size());
}

const ListSchedule& ListScheduler::run(const ListPolicy& policy) {
  const std::size_t length = pipeline_.lane_length();
  std::fill(done_.begin(), done_.end(), 0);
  for (auto& list : arrived_) std::fill(list.begin(), list.end(), 0);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    devices_[d] = {};
    devices_[d].next = d * length;
    if (d > 0) devices_[d].now = kNever, devices_[d].idle = true;
  }
  // All microbatches are available at the first stage from the start.
  arrived_[kForward][0] = pipeline_.microbatches;
  std::fill_n(arrival_[kForward].begin(), at(pipeline_.microbatches), 0);
  std::fill(tree_.begin(), tree_.end(), -1);
  for (std::size_t i = 0; i < devices_.size(); ++i)
    tree_[leaves_ + i] = static_cast<std::int32_t>(i);
  for (int d = pipeline_.devices; d-- > 0;) reseat(d);

  for (std::size_t left = found_.lanes.steps.size(); left > 0;) {
    const int d = earliest();
    Device& device = devices_[at(d)];
    assert(device.now < kNever && "some microbatch can always go on");
    const Choice choice = policy.nominal.empty() ? choose(d, policy) : choose_nominal(d, policy);
    if (choice.chunk < 0) {
      device.idle = true;
      device.now = choice.again;
      reseat(d);
      continue;
    }
    take(d, choice.chunk, choice.pass);
    --left;
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) found_.ends[d] = devices_[d].free;
  return found_;
}

ListScheduler::Choice ListScheduler::weight(int d) const {
  // Picks the chunk that lags most: what it frees has been held longest.
  const Pipeline& p = pipeline_;
  Choice choice;
  std::int32_t most = 0;
  for (int c = 0; c < p.chunks; ++c) {
    const std::size_t s = at(p.stage_at(d, c));
    const std::int32_t lag = done_[3 * s + kInput] - done_[3 * s + kWeight];
    if (lag > most) most = lag, choice = {c, kWeight, kNever};
  }
  return choice;
}

ListScheduler::Choice ListScheduler::choose(int d, const ListPolicy& policy) const {
  const Pipeline& p = pipeline_;
  const Device& device = devices_[at(d)];
  const Ticks now = device.now;
  const std::size_t m = at(p.microbatches);
  int input = -1, forward = -1, full = -1;
  Ticks next_input = kNever, next_forward = kNever;
  for (int i = 0; i < p.chunks; ++i) {
    // Late chunks go first, because they are nearer to the passes that free memory.
    const int c = p.chunks - 1 - i;
    const std::size_t s = at(p.stage_at(d, c));
    const std::int32_t* done = &done_[3 * s];
    if (done[kInput] < arrived_[kInput][s]) {
      const Ticks when = arrival_[kInput][s * m + static_cast<std::size_t>(done[kInput])];
      if (when > now)
        next_input = std::min(next_input, when);
      else if (input < 0)
        input = c;
    }
    if (done[kForward] < arrived_[kForward][s] &&
        done[kForward] - done[kInput] < policy.under_way[s]) {
      const Ticks when = arrival_[kForward][s * m + static_cast<std::size_t>(done[kForward])];
      const bool room = p.held[s] <= p.limit[at(d)] - device.held;
      if (when > now) {
        if (room || device.pending > 0) next_forward = std::min(next_forward, when);
      } else if (!room) {
        if (full < 0) full = c;
      } else if (forward < 0) {
        forward = c;
      }
    }
  }
  const auto waits_for = [&](Ticks arrival, Ticks length, double patience) {
    return arrival<now + length&& static_cast<double>(now + length - arrival)> patience *
           static_cast<double>(length);
  };
  if (input >= 0 && !(policy.alternate && device.after_input && forward >= 0))
    return {input, kInput, kNever};
  const Choice lag = device.pending > 0 ? weight(d) : Choice{};
  const auto weight_time = [&] { return p.time[kWeight][at(p.stage_at(d, lag.chunk))]; };
  if (forward >= 0) {
    const Ticks length = p.time[kForward][at(p.stage_at(d, forward))];
    if (input < 0 && policy.forward_patience > 0 &&
        waits_for(next_input, length, policy.forward_patience)) {
      if (lag.chunk >= 0 && !waits_for(next_input, weight_time(), policy.forward_patience))
        return lag;
      return {-1, kForward, next_input};
    }
    return {forward, kForward, kNever};
  }
  const Ticks next = std::min(next_input, next_forward);
  if (lag.chunk >= 0) {
    if (full >= 0) return lag;
    if (policy.patience <= 0 || !waits_for(next, weight_time(), policy.patience)) return lag;
  }
  return {-1, kForward, next};
}

ListScheduler::Choice ListScheduler::choose_nominal(int d, const ListPolicy& policy) const {
  const Pipeline& p = pipeline_;
  const Device& device = devices_[at(d)];
  const Ticks now = device.now;
  const std::size_t m = at(p.microbatches);
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  struct Best {
    std::int64_t place = kLast;
    Ticks when = kNever;
    int chunk = -1;
    Part part = kForward;
  };
  Best ready, coming, full;  // coming: its arrival is known but has not happened
  Ticks again = kNever;
  for (int c = 0; c < p.chunks; ++c) {
    const std::size_t s = at(p.stage_at(d, c));
    const std::int32_t* done = &done_[3 * s];
    for (const Part part : {kForward, kInput}) {
      if (done[part] >= arrived_[part][s]) continue;
      if (part == kForward && done[kForward] - done[kInput] >= policy.under_way[s]) continue;
      const Ticks when = arrival_[part][s * m + static_cast<std::size_t>(done[part])];
      const std::int64_t place =
          policy.nominal[2 * s + part] + std::int64_t{policy.period} * done[part];
      const bool room = part == kInput || p.held[s] <= p.limit[at(d)] - device.held;
      Best& best = when > now ? coming : room ? ready : full;
      if (when > now && (room || device.pending > 0)) again = std::min(again, when);
      if (place < best.place) best = {place, when, c, part};
    }
  }
  const Choice lag = device.pending > 0 ? weight(d) : Choice{};
  if (lag.chunk >= 0 && full.place < ready.place) return lag;
  const auto delays = [&](Ticks length, Ticks arrival, double patience) {
    return arrival<now + length&& static_cast<double>(now + length - arrival)> patience *
           static_cast<double>(length);
  };
  const auto time = [&](int chunk, Part part) { return p.time[part][at(p.stage_at(d, chunk))]; };
  if (ready.chunk >= 0) {
    if (coming.place > ready.place ||
        !delays(time(ready.chunk, ready.part), coming.when, policy.forward_patience))
      return {ready.chunk, ready.part, kNever};
    if (lag.chunk >= 0 && !delays(time(lag.chunk, kWeight), coming.when, policy.patience))
      return lag;
    return {-1, kForward, again};
  }
  if (lag.chunk >= 0 && !delays(time(lag.chunk, kWeight), again, policy.patience)) return lag;
  return {-1, kForward, again};
}

void ListScheduler::take(int d, int chunk, Part pass) {
  const Pipeline& p = pipeline_;
  Device& device = devices_[at(d)];
  const int s = p.stage_at(d, chunk);
  const std::int32_t k = done_[3 * at(s) + pass]++;
  device.held += p.change[pass][at(s)];
  device.free = device.now += p.time[pass][at(s)];
  device.idle = false;
  device.after_input = pass == kInput;
  found_.lanes.steps[device.next++] = step_of(chunk, pass);
  if (pass == kForward) {
    if (s + 1 < p.stages)
      arrive(s + 1, kForward, k, device.now + p.hop[at(s)]);
    else
      arrive(s, kInput, k, device.now);
  } else if (pass == kInput) {
    if (p.split) ++device.pending;
    if (s > 0) arrive(s - 1, kInput, k, device.now + p.hop[at(s - 1)]);
  } else {
    --device.pending;
  }
  reseat(d);
}

void ListScheduler::arrive(int stage, Part pass, std::int32_t microbatch, Ticks when) {
  const std::size_t s = at(stage);
  arrival_[pass][s * at(pipeline_.microbatches) + static_cast<std::size_t>(microbatch)] = when;
  arrived_[pass][s] = microbatch + 1;
  wake(pipeline_.device[s], when);
}

void ListScheduler::wake(int d, Ticks when) {
  Device& device = devices_[at(d)];
  when = std::max(when, device.free);
  if (!device.idle || device.now <= when) return;
  device.now = when;
  reseat(d);
}

void ListScheduler::reseat(int d) {
  const auto now = [&](std::int32_t i) { return i < 0 ? kNever : devices_[at(i)].now; };
  for (std::size_t i = (leaves_ + at(d)) / 2; i >= 1; i /= 2) {
    const std::int32_t left = tree_[2 * i], right = tree_[2 * i + 1];
    tree_[i] = now(right) < now(left) ? right : left;
  }
}

}  // namespace trainyard
