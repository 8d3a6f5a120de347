#include "core/lowering/hold_phase.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/program/successors.h"

namespace trainyard {
namespace {

bool computes(const Program& program, std::uint32_t id) {
  return program.task(InstructionId{id}).kind == TaskKind::Compute;
}

/// Half-open.
struct LaidOut {
  Instant start{}, end{};
};

/// The compute stream of a lane, and the first instruction of each of its forwards.
struct HeldLane {
  std::uint32_t stream = 0;
  std::size_t before = kNoLane;  // index into the lanes
  double behind = 0;
  std::vector<std::uint32_t> forwards;
};

std::vector<HeldLane> lanes_of(const Program& program, const Order& order) {
  std::vector<HeldLane> lanes(order.lanes.size());
  std::map<std::uint32_t, std::vector<std::uint32_t>> streams;  // computing ones by device
  for (std::uint32_t s = 0; s < program.streams.size(); ++s)
    if (program.streams[s].compute) streams[program.streams[s].device.value].push_back(s);
  std::map<std::uint32_t, std::size_t> next;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = order.lanes[i];
    if (lane.actions.empty()) continue;
    HeldLane& held = lanes[i];
    held.stream = streams.at(lane.device.value).at(next[lane.device.value]++);
    held.before = lane_before(order, i);
    held.behind = lane.behind;
    const Stream& stream = program.streams[held.stream];
    std::pair<std::uint32_t, std::int32_t> last{0, -1};  // stage and microbatch of the one before
    for (std::uint32_t id = stream.first; id < stream.first + stream.count; ++id) {
      const Task& task = program.task(InstructionId{id});
      const std::pair of{task.stage.value, program.instructions[id].microbatch};
      const bool forward = task.phase == Phase::Forward;
      if (forward && of != last) held.forwards.push_back(id);
      last = forward ? of : std::pair{std::uint32_t{0}, -1};
    }
  }
  return lanes;
}

/// When each instruction runs if it takes its predicted time, waits for what it waits for, and
/// shares nothing.
class LaneLayout {
 public:
  LaneLayout(const Program& program, const std::vector<Duration>& times)
      : program_(program),
        times_(times),
        successors_(program),
        spans_(program.instructions.size()) {}

  /// `lag`: what begins at least so long after another has begun, by that other.
  using Lags = std::multimap<std::uint32_t, std::pair<std::uint32_t, Duration>>;
  const std::vector<LaidOut>& run(const Lags& lags) {
    lags_ = &lags;
    waits_.assign(program_.instructions.size(), 0);
    for (std::uint32_t i = 0; i < waits_.size(); ++i) waits_[i] = program_.instructions[i].afters;
    for (const Stream& stream : program_.streams)
      for (std::uint32_t i = stream.first + 1; i < stream.first + stream.count; ++i) ++waits_[i];
    for (const auto& [before, after] : lags) ++waits_[after.first];
    spans_.assign(spans_.size(), {});
    for (const Stream& stream : program_.streams) {
      ends_.insert(stream.first + stream.count);
      if (stream.count > 0) spans_[stream.first].start = Instant{stream.delay};
    }
    for (std::uint32_t i = 0; i < waits_.size(); ++i)
      if (waits_[i] == 0) come(i);
    while (!ready_.empty()) {
      const std::uint32_t id = ready_.back();
      ready_.pop_back();
      pass(id);
    }
    return spans_;
  }

 private:
  // Two ends of a transfer begin together.
  void come(std::uint32_t id) {
    const InstructionId peer = program_.instructions[id].peer;
    if (!peer.valid()) return ready_.push_back(id);
    if (waits_[peer.value] > 0) return;
    spans_[id].start = spans_[peer.value].start =
        std::max(spans_[id].start, spans_[peer.value].start);
    ready_.push_back(id);
    if (peer.value != id) ready_.push_back(peer.value);
  }
  void pass(std::uint32_t id) {
    Duration time = times_[program_.instructions[id].task.value];
    if (computes(program_, id)) time = std::max(time, Duration{1});
    LaidOut& span = spans_[id];
    span.end = span.start + time;
    const auto [first, last] = lags_->equal_range(id);
    for (auto lag = first; lag != last; ++lag)
      release(lag->second.first, span.start + lag->second.second);
    if (!ends_.contains(id + 1)) release(id + 1, span.end);
    for (const std::uint32_t next : successors_.of(id)) release(next, span.end);
  }
  void release(std::uint32_t id, Instant at) {
    spans_[id].start = std::max(spans_[id].start, at);
    if (--waits_[id] == 0) come(id);
  }

  const Program& program_;
  const std::vector<Duration>& times_;
  const Lags* lags_ = nullptr;
  const Successors successors_;
  std::vector<std::uint32_t> waits_, ready_;
  std::set<std::uint32_t> ends_;  // one past the last instruction of each stream
  std::vector<LaidOut> spans_;
};

/// The forward and backward of the lane's first microbatch.
Duration cycle_of(const Program& program, const HeldLane& lane, const std::vector<LaidOut>& spans) {
  const std::uint32_t first = lane.forwards.front();
  const Stream& stream = program.streams[lane.stream];
  Instant end = spans[first].end;
  for (std::uint32_t id = first; id < stream.first + stream.count; ++id)
    if (program.task(InstructionId{id}).phase != Phase::Update &&
        program.instructions[id].microbatch == program.instructions[first].microbatch)
      end = spans[id].end;
  return end - spans[first].start;
}

LaneLayout::Lags lags_of(const Program& program, const std::vector<HeldLane>& lanes,
                         const std::vector<LaidOut>& spans) {
  LaneLayout::Lags lags;
  for (const HeldLane& lane : lanes) {
    if (lane.before == kNoLane || lane.behind == 0) continue;
    const HeldLane& other = lanes[lane.before];
    if (other.forwards.empty()) continue;
    const Duration cycle = cycle_of(program, other, spans);
    const Duration lag{std::llround(lane.behind * static_cast<double>(cycle.count()))};
    for (std::size_t n = 0; n < std::min(lane.forwards.size(), other.forwards.size()); ++n)
      lags.insert({other.forwards[n], {lane.forwards[n], lag}});
  }
  return lags;
}

/// Adds to `waits` what the instructions of `lane` wait for of `other`, each the last one that has
/// ended; the instruction before it waits for those before.
void wait_for(const Program& program, const HeldLane& lane, const HeldLane& other,
              const std::vector<LaidOut>& spans, std::vector<std::vector<InstructionId>>& waits) {
  const Stream &own = program.streams[lane.stream], &theirs = program.streams[other.stream];
  std::uint32_t ended = 0, known = 0;  // counts of the other's instructions
  for (std::uint32_t id = own.first; id < own.first + own.count; ++id) {
    while (ended < theirs.count && spans[theirs.first + ended].end <= spans[id].start) ++ended;
    if (ended == known) continue;
    known = ended;
    waits[id].push_back({theirs.first + ended - 1});
  }
}

void add_waits(Program& program, const std::vector<std::vector<InstructionId>>& waits) {
  std::vector<InstructionId> all;
  all.reserve(program.after.size());
  for (std::uint32_t id = 0; id < program.instructions.size(); ++id) {
    Instruction& in = program.instructions[id];
    const auto first = program.after.begin() + in.first_after, last = first + in.afters;
    in.first_after = static_cast<std::uint32_t>(all.size());
    all.insert(all.end(), first, last);
    for (const InstructionId wait : waits[id])
      if (std::find(first, last, wait) == last) all.push_back(wait);
    in.afters = static_cast<std::uint32_t>(all.size()) - in.first_after;
  }
  program.after = std::move(all);
}

}  // namespace

bool shares_devices(const Order& order) {
  std::set<DeviceId> seen;
  return std::any_of(order.lanes.begin(), order.lanes.end(), [&](const Lane& lane) {
    return !lane.actions.empty() && !seen.insert(lane.device).second;
  });
}

void hold_phase(Program& program, const Order& order, const std::vector<Duration>& times) {
  if (!shares_devices(order)) return;
  const std::vector<HeldLane> lanes = lanes_of(program, order);
  const auto hold = [&](const std::vector<LaidOut>& spans) {
    std::vector<std::vector<InstructionId>> waits(program.instructions.size());
    for (std::size_t i = 0; i < lanes.size(); ++i)
      for (std::size_t k = 0; k < lanes.size(); ++k)
        if (i != k && !order.lanes[i].actions.empty() && !order.lanes[k].actions.empty() &&
            order.lanes[i].device == order.lanes[k].device)
          wait_for(program, lanes[i], lanes[k], spans, waits);
    add_waits(program, waits);
  };
  LaneLayout apart(program, times);
  const std::vector<LaidOut> spans = apart.run(lags_of(program, lanes, apart.run({})));
  hold(spans);
  // A lag ends inside an instruction, and a wait at its end: what runs together is that of the
  // layout with waits and without lags.
  hold(LaneLayout(program, times).run({}));
  for (const HeldLane& lane : lanes) {
    if (lane.before == kNoLane || lane.behind == 0) continue;
    Stream& stream = program.streams[lane.stream];
    if (!program.task(InstructionId{stream.first}).node.valid())
      stream.delay = Duration{spans[stream.first].start};
  }
}

}  // namespace trainyard
