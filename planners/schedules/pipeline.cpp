#include "planners/schedules/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "planners/index.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostSteps = 4'000'000;
constexpr std::int64_t kMostSum = std::int64_t{1} << 58;  // of any sum of times or bytes

void expect_counts(const ScheduleProblem& p) {
  if (p.devices < 1)
    refuse("devices", fmt::format("expected at least 1 device, found {}", p.devices));
  if (p.microbatches < 1)
    refuse("microbatches", fmt::format("expected at least 1 microbatch, found {}", p.microbatches));
  const std::size_t stages = p.stages.size();
  if (stages == 0 || stages % at(p.devices) != 0)
    refuse("stages", fmt::format("expected a multiple of {} stages, one or more a device, found {}",
                                 p.devices, stages));
  if (p.placement != Placement::Cyclic && p.placement != Placement::V)
    refuse("placement", fmt::format("expected cyclic or v, found {}", to_string(p.placement)));
  if (static_cast<std::int64_t>(stages) > kMostSteps / 3 / p.microbatches)
    refuse("microbatches", fmt::format("{} stages of {} microbatches are more than {} passes",
                                       stages, p.microbatches, kMostSteps));
  if (!p.limits.empty() && p.limits.size() != at(p.devices))
    refuse("limits", fmt::format("expected a limit for each of {} devices or none, found {}",
                                 p.devices, p.limits.size()));
}

// Bounds all sums well below overflow, so that no later addition needs a check.
void expect_amounts(const ScheduleProblem& p) {
  std::int64_t time = 0, bytes = 0;
  const auto add = [&](std::int64_t& sum, std::int64_t amount, std::size_t stage) {
    const std::string place = fmt::format("stage {}", stage);
    if (amount < 0) refuse(place, "expected times and bytes of at least 0");
    const std::int64_t most = kMostSum / p.microbatches;
    if (amount > most || amount > most - sum)
      refuse(place, "its microbatches sum up to more than can be counted");
    sum += amount;
  };
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    const StageCost& c = p.stages[s];
    for (const Duration t : {c.forward, c.backward_input, c.backward_weight, 2 * p.transfer})
      add(time, t.count(), s);
    for (const Bytes b : {c.until_input, c.until_weight}) add(bytes, b.value, s);
  }
}

// Checks that each device can hold one whole microbatch, as it does between the forward of its last
// chunk and that chunk's backward.
void expect_room(const Pipeline& p) {
  for (int d = 0; d < p.devices; ++d) {
    std::int64_t needed = 0;
    for (int c = 0; c < p.chunks; ++c) needed += p.held[at(p.stage_at(d, c))];
    if (needed > p.limit[at(d)])
      refuse(fmt::format("device {}", d),
             fmt::format("one microbatch needs {}, and the limit is {}", to_text(Bytes{needed}),
                         to_text(Bytes{p.limit[at(d)]})));
  }
}

void place_stages(Pipeline& p) {
  p.device.resize(at(p.stages)), p.chunk.resize(at(p.stages));
  p.stage.assign(at(p.stages), 0);
  std::vector<int> chunks(at(p.devices), 0);
  for (int s = 0; s < p.stages; ++s) {
    const int d = static_cast<int>(
        device_of({static_cast<std::uint32_t>(s)}, p.devices, p.stages, p.placement).value);
    p.device[at(s)] = d;
    p.chunk[at(s)] = chunks[at(d)];
    p.stage[at(d * p.chunks + chunks[at(d)]++)] = s;
  }
}

void fill_tables(Pipeline& p, const ScheduleProblem& problem) {
  for (int s = 0; s < p.stages; ++s) {
    const StageCost& c = problem.stages[at(s)];
    const Ticks input = c.backward_input.count(), weight = c.backward_weight.count();
    p.time[kForward].push_back(c.forward.count());
    p.time[kInput].push_back(p.split ? input : input + weight);
    p.time[kWeight].push_back(p.split ? weight : 0);
    const std::int64_t early = c.until_input.value, late = c.until_weight.value;
    p.held.push_back(early + late);
    p.change[kForward].push_back(early + late);
    p.change[kInput].push_back(p.split ? -early : -early - late);
    p.change[kWeight].push_back(p.split ? -late : 0);
    const bool turns = s + 1 == p.stages || p.device[at(s)] == p.device[at(s + 1)];
    p.hop.push_back(turns ? 0 : problem.transfer.count());
  }
  p.head.assign(at(p.devices), kNever), p.work.assign(at(p.devices), 0);
  Ticks start = 0;
  for (int s = 0; s < p.stages; ++s) {
    const std::size_t d = at(p.device[at(s)]);
    p.head[d] = std::min(p.head[d], start);
    start += p.time[kForward][at(s)] + p.hop[at(s)];
    for (const auto& time : p.time) p.work[d] += time[at(s)] * p.microbatches;
  }
}

}  // namespace

Pipeline make_pipeline(const ScheduleProblem& problem) {
  expect_counts(problem);
  expect_amounts(problem);
  Pipeline p;
  p.devices = problem.devices, p.microbatches = problem.microbatches;
  p.stages = static_cast<int>(problem.stages.size()), p.chunks = p.stages / p.devices;
  p.split = problem.split_backward, p.placement = problem.placement;
  if (p.chunks > 10'000) refuse("stages", "expected at most 10000 stages per device");
  place_stages(p);
  fill_tables(p, problem);
  p.limit.assign(at(p.devices), kNoLimit);
  for (std::size_t d = 0; d < problem.limits.size(); ++d) p.limit[d] = problem.limits[d].value;
  expect_room(p);
  // A limit that holds everything counts as no limit.
  for (int d = 0; d < p.devices; ++d) {
    std::int64_t most = 0;
    for (int c = 0; c < p.chunks; ++c) most += p.held[at(p.stage_at(d, c))] * p.microbatches;
    if (p.limit[at(d)] >= most) p.limit[at(d)] = kNoLimit;
    p.limited = p.limited || p.limit[at(d)] != kNoLimit;
  }
  return p;
}

OrderScore score_of(const Pipeline& p, const std::vector<Ticks>& ends,
                    ScheduleObjective objective) {
  Ticks makespan = 0, span = 0;
  for (std::size_t d = 0; d < ends.size(); ++d) {
    makespan = std::max(makespan, ends[d]);
    span = std::max(span, ends[d] - p.head[d]);
  }
  return objective == ScheduleObjective::Makespan ? OrderScore{makespan, span}
                                                  : OrderScore{span, makespan};
}

LaneClock::LaneClock(const Pipeline& pipeline)
    : pipeline_(pipeline),
      forward_end_(at(pipeline.stages) * at(pipeline.microbatches)),
      input_end_(forward_end_.size()),
      free_(at(pipeline.devices)),
      done_(at(pipeline.stages) * 3),
      next_(at(pipeline.devices)) {}

const std::vector<Ticks>* LaneClock::time(const Lanes& lanes) {
  std::fill(done_.begin(), done_.end(), 0);
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(free_.begin(), free_.end(), 0);
  const std::size_t length = pipeline_.lane_length();
  // Sweeps down the devices with the forwards and up again with the gradients.
  for (bool moved = true; moved;) {
    moved = false;
    for (int d = 0; d < pipeline_.devices; ++d)
      moved = advance(d, lanes.steps.data() + at(d) * length) || moved;
    for (int d = pipeline_.devices; d-- > 0;)
      moved = advance(d, lanes.steps.data() + at(d) * length) || moved;
  }
  for (const std::size_t next : next_)
    if (next < length) return nullptr;
  return &free_;
}

// Advances one lane for as long as the inputs of its steps are available.
bool LaneClock::advance(int device, const LaneStep* lane) {
  const Pipeline& p = pipeline_;
  const std::size_t length = p.lane_length(), from = next_[at(device)];
  const std::size_t m = at(p.microbatches);
  Ticks free = free_[at(device)];
  std::size_t i = from;
  for (; i < length; ++i) {
    const Part pass = part_of(lane[i]);
    const std::size_t s = at(p.stage_at(device, chunk_of(lane[i])));
    std::int32_t& done = done_[3 * s + pass];
    const auto k = static_cast<std::size_t>(done);
    if (pass == kForward) {
      if (s > 0) {
        if (done_[3 * (s - 1) + kForward] <= done) break;
        free = std::max(free, forward_end_[(s - 1) * m + k] + p.hop[s - 1]);
      }
      forward_end_[s * m + k] = free += p.time[kForward][s];
    } else if (pass == kInput) {
      if (done_[3 * s + kForward] <= done) break;
      if (s + 1 < at(p.stages)) {
        if (done_[3 * (s + 1) + kInput] <= done) break;
        free = std::max(free, input_end_[(s + 1) * m + k] + p.hop[s]);
      }
      input_end_[s * m + k] = free += p.time[kInput][s];
    } else {
      if (done_[3 * s + kInput] <= done) break;
      free += p.time[kWeight][s];
    }
    ++done;
  }
  next_[at(device)] = i;
  free_[at(device)] = free;
  return i > from;
}

bool fits(const Pipeline& p, const Lanes& lanes) {
  if (!p.limited) return true;
  const std::size_t length = p.lane_length();
  for (int d = 0; d < p.devices; ++d) {
    std::int64_t held = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const LaneStep step = lanes.steps[at(d) * length + i];
      held += p.change[part_of(step)][at(p.stage_at(d, chunk_of(step)))];
      if (held > p.limit[at(d)]) return false;
    }
  }
  return true;
}

std::optional<Lanes> lanes_of(const Pipeline& p, const Order& order) {
  if (order.lanes.size() != at(p.devices) || !order.precedences.empty()) return std::nullopt;
  const std::size_t length = p.lane_length();
  Lanes lanes{std::vector<LaneStep>(length * at(p.devices))};
  std::vector<bool> seen(at(p.devices), false);
  std::vector<std::int32_t> done(at(p.stages) * 3, 0);
  for (const Lane& lane : order.lanes) {
    const std::size_t d = lane.device.value;
    if (d >= at(p.devices) || seen[d] || lane.delay != Duration{} || lane.behind != 0)
      return std::nullopt;
    seen[d] = true;
    std::size_t next = d * length;
    const auto add = [&](const Action& a, Part pass) {
      const std::size_t s = a.stage.value;
      if (s >= at(p.stages) || at(p.device[s]) != d || next == (d + 1) * length) return false;
      if (done[3 * s + pass]++ >= p.microbatches) return false;
      lanes.steps[next++] = step_of(p.chunk[s], pass);
      return true;
    };
    for (const Action& a : lane.actions) {
      bool good = false;
      if (a.phase == Phase::Forward) good = add(a, kForward);
      if (a.phase == Phase::Backward) good = add(a, kInput) && (!p.split || add(a, kWeight));
      if (a.phase == Phase::BackwardInput) good = p.split && add(a, kInput);
      if (a.phase == Phase::BackwardWeight) good = p.split && add(a, kWeight);
      if (!good) return std::nullopt;
    }
    if (next != (d + 1) * length) return std::nullopt;
  }
  return lanes;
}

Order order_of(const Pipeline& p, const Lanes& lanes) {
  constexpr std::array kSplit{Phase::Forward, Phase::BackwardInput, Phase::BackwardWeight};
  constexpr std::array kWhole{Phase::Forward, Phase::Backward, Phase::Backward};
  const std::size_t length = p.lane_length();
  std::vector<std::int32_t> done(at(p.stages) * 3, 0);
  Order order;
  for (int d = 0; d < p.devices; ++d) {
    Lane lane{{static_cast<std::uint32_t>(d)}, "compute"};
    lane.actions.reserve(length);
    for (std::size_t i = 0; i < length; ++i) {
      const LaneStep step = lanes.steps[at(d) * length + i];
      const Part pass = part_of(step);
      const std::size_t s = at(p.stage_at(d, chunk_of(step)));
      lane.actions.push_back({(p.split ? kSplit : kWhole)[pass],
                              {static_cast<std::uint32_t>(s)},
                              done[3 * s + pass]++});
    }
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

}  // namespace trainyard
