#include "core/methods/orders/recurrence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/methods/orders/action_clock.h"
#include "core/methods/orders/held_moments.h"
#include "core/program/action_index.h"
#include "core/program/offloaded.h"

namespace trainyard {
namespace {

constexpr Duration kUnknown = Duration::max();  // later than anything known

bool is_backward(Phase phase) { return phase == Phase::Backward || phase == Phase::BackwardInput; }

// FollowedLane is the state of one lane while an order is followed.
struct FollowedLane : ActionClock {
  const Lane* lane = nullptr;
  std::size_t next = 0;
  const FollowedLane* before = nullptr;     // the lane that it is behind, if it is
  std::vector<Duration> forwards;           // starts of its forwards so far, where lanes are behind
  std::size_t all_forwards = 0;             // how many it will have
  std::vector<Duration>* starts = nullptr;  // of its actions, if the caller asks for them
  Duration links[2][2] = {};       // when its ports are idle, by direction of the data and of the
                                   // neighbour
  std::vector<Duration> reducing;  // by stage: when its gradients have been reduced
  std::vector<bool> completes;     // by action: whether it is the last backward before its stage's
                                   // update
  // These fields are for activations that are stored on the host, where a plan does that.
  std::vector<bool> moves;                    // by action: whether its activations move
  Duration down{}, up{};                      // when the lanes to and from the host are idle again
  std::array<Duration, kHostBuffers> gone{};  // ends of the newest copies to the host, as a ring
  std::size_t copies = 0;
  Duration window{};  // earliest start of the next copy from the host
  bool backward = false;
};

class Recurrence {
 public:
  Recurrence(const Order& order, const ScheduleShape& shape, const PipelineTimes& times,
             const FollowOptions& options)
      : order_(order),
        shape_(shape),
        times_(times),
        stages_(static_cast<std::size_t>(shape.stages)),
        copies_(static_cast<std::size_t>(copies(shape.placement))),
        asynchronous_(has_updates(order)),
        holdings_(options.holdings),
        ports_(options.ports) {
    const std::size_t cells = stages_ * static_cast<std::size_t>(shape.microbatches) *
                              static_cast<std::size_t>(asynchronous_ ? shape.steps : 1);
    forward_.assign(cells, kUnknown), backward_.assign(cells, kUnknown);
    own_forward_ = own_input_ = forward_;
    LaneStarts* const starts = options.starts;
    if (starts) starts->assign(order.lanes.size(), {});
    weights_.resize(static_cast<std::size_t>(shape.devices));
    reduce_stream_.resize(weights_.size());
    held_.resize(weights_.size());
    for (std::uint32_t s = 0; s < stages_; ++s)
      for (std::size_t c = 0; c < copies_; ++c)
        devices_.push_back(device_of(StageId{s}, shape.devices, shape.stages, shape.placement,
                                     static_cast<int>(c)));
    lanes_on_.assign(weights_.size(), 0);
    for (const Lane& lane : order.lanes) {
      FollowedLane& clock = clocks_.emplace_back();
      clock.free = clock.computed = lane.delay;
      clock.lane = &lane;
      if (starts) clock.starts = &(*starts)[clocks_.size() - 1];
      clock.reducing.resize(stages_);
      if (!times.host_copy.empty()) clock.moves = offloaded(lane);
      ++lanes_on_[lane.device.value];
    }
    due_.resize(stages_ * copies_), others_ended_.resize(due_.size());
    for (FollowedLane& clock : clocks_) find_last_backwards(clock);
    for (std::size_t i = 0; i < clocks_.size(); ++i)
      if (order.lanes[i].behind > 0)
        if (const std::size_t before = lane_before(order, i); before != kNoLane)
          keep_distance(clocks_[i], clocks_[before]);
    arrived_.assign(stages_ * copies_, Duration{});
    waiting_.assign(arrived_.size(), true);
    if (!times.host_copy.empty()) there_.resize(cells);
    found_.ends.resize(stages_), found_.reduced.resize(stages_);
    if (has_pairs(order)) found_.pairs.resize(weights_.size());
    older_.resize(arrived_.size());
    for (const Precedence& p : order.precedences)
      before_.insert({key_of(p.after), key_of(p.before)});
  }

  PipelineEstimate run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (FollowedLane& clock : clocks_)
        while (clock.next < clock.lane->actions.size() && act(clock)) moved = true;
    }
    for (const FollowedLane& clock : clocks_)
      if (clock.next < clock.lane->actions.size())
        throw Error(Error::Kind::InvalidInput,
                    "expected an order that check() accepts; this one's lanes wait for each other",
                    {"order"});
    for (std::size_t s = 0; s < stages_; ++s) {
      found_.span = std::max(found_.span, found_.ends[s]);
      found_.reduced[s] = std::max(found_.reduced[s], found_.ends[s]);
    }
    if (asynchronous_) pace();
    if (holdings_) count_live();
    return std::move(found_);
  }

 private:
  std::size_t cell(std::size_t s, std::int32_t microbatch) const {
    return static_cast<std::size_t>(microbatch) * stages_ + s;
  }
  std::size_t copy(StageId stage, DeviceId on) const {
    return copies_ > 1 && device(stage, 0) != on ? 1 : 0;
  }
  DeviceId device(StageId stage, std::size_t copy_of) const {
    return devices_[stage.value * copies_ + copy_of];
  }
  std::size_t place(StageId stage, DeviceId on) const {
    return stage.value * copies_ + copy(stage, on);
  }

  void find_last_backwards(FollowedLane& clock) {
    const std::vector<Action>& actions = clock.lane->actions;
    clock.completes.assign(actions.size(), false);
    std::vector<bool> due(stages_, !asynchronous_);
    for (std::size_t i = actions.size(); i-- > 0;) {
      const std::size_t s = actions[i].stage.value;
      if (actions[i].phase == Phase::Update) due[s] = true;
      if (actions[i].phase != Phase::Backward && actions[i].phase != Phase::BackwardWeight)
        continue;
      clock.completes[i] = due[s];
      if (due[s] && !asynchronous_) ++due_[place(actions[i].stage, clock.lane->device)];
      due[s] = false;
    }
  }

  const ActionTime& time_of(const Action& a) const {
    switch (a.phase) {
      case Phase::Forward:
        return times_.forward[a.stage.value];
      case Phase::BackwardInput:
        return times_.backward_input[a.stage.value];
      case Phase::BackwardWeight:
        return times_.backward_weight[a.stage.value];
      default:
        return times_.backward[a.stage.value];
    }
  }

  // Waves of a device that together need more than all of it share it.
  Duration shared(Duration time, DeviceId on) const {
    const double load = times_.fill * lanes_on_[on.value];
    if (lanes_on_[on.value] < 2 || load <= 1) return time;
    return Duration{static_cast<std::int64_t>(static_cast<double>(time.count()) * load)};
  }

  // Returns when the inputs of the action are there; kUnknown while they are not.
  Duration input_of(const Action& a) const {
    const std::size_t s = a.stage.value, at = a.phase == Phase::Update ? 0 : cell(s, a.microbatch);
    Duration input{};
    if (a.phase == Phase::Forward && s > 0) input = forward_[at - 1];
    if (is_backward(a.phase)) {
      input = own_forward_[at];
      if (s + 1 < stages_) input = std::max(input, backward_[at + 1]);
    }
    if (a.phase == Phase::BackwardWeight) input = own_input_[at];
    if (before_.empty()) return input;
    const auto [first, last] = before_.equal_range(key_of(a));
    for (auto p = first; p != last; ++p) {
      const auto ended = ended_.find(p->second);
      input = std::max(input, ended == ended_.end() ? kUnknown : ended->second);
    }
    return input;
  }

  void keep_distance(FollowedLane& clock, FollowedLane& before) {
    clock.before = &before;
    before.all_forwards = static_cast<std::size_t>(
        std::count_if(before.lane->actions.begin(), before.lane->actions.end(),
                      [](const Action& a) { return a.phase == Phase::Forward; }));
    keeps_distance_ = true;
  }

  // Returns when a forward is as far behind the same one of the lane before as its lane has to be;
  // kUnknown while that one has not begun.
  Duration distance_of(const FollowedLane& clock, const Action& a) const {
    if (clock.before == nullptr || a.phase != Phase::Forward) return {};
    const std::size_t n = clock.forwards.size();
    if (n >= clock.before->all_forwards) return {};
    if (n == clock.before->forwards.size()) return kUnknown;
    const ActionTime &forward = times_.forward[a.stage.value],
                     &backward = times_.backward[a.stage.value];
    const Duration cycle =
        forward.compute + forward.blocking + backward.compute + backward.blocking;
    return clock.before->forwards[n] +
           Duration{std::llround(clock.lane->behind * static_cast<double>(cycle.count()))};
  }

  // Runs the lane's next action, or the pair that begins with it, if what it needs is there.
  bool act(FollowedLane& clock) {
    const Action& a = clock.lane->actions[clock.next];
    Duration input = std::max(input_of(a), distance_of(clock, a));
    if (input == kUnknown) return false;
    if (begins_pair(*clock.lane, clock.next)) {
      input = std::max(input, input_of(clock.lane->actions[clock.next + 1]));
      if (input == kUnknown) return false;
      compute_pair(clock, input);
      return true;
    }
    if (a.phase == Phase::Update)
      update(clock, a);
    else
      compute(clock, a, input, time_of(a), shared(time_of(a).compute, clock.lane->device));
    end(clock, a);
    return true;
  }

  void end(FollowedLane& clock, const Action& a) {
    if (!order_.precedences.empty()) ended_[key_of(a)] = clock.free;
    ++clock.next;
  }

  // The computations take turns, and each hides what the other action's layers send: the messages
  // of the second action run beside what the first one computes, those of the first beside what the
  // second one computes. That is as short as any interleaving of their layers can be.
  void compute_pair(FollowedLane& clock, Duration input) {
    const Action &one = clock.lane->actions[clock.next],
                 &other = clock.lane->actions[clock.next + 1];
    ActionTime first = time_of(one), second = time_of(other);
    const Duration start = std::max(clock.free, input), sent = first.blocking + second.blocking;
    first.beside += std::exchange(second.blocking, {});
    first.beside_shared += std::exchange(second.blocking_shared, {});
    const ActionClock before = clock;
    compute(clock, one, start, first, first.compute);
    end(clock, one);
    const ActionClock ended = clock;
    static_cast<ActionClock&>(clock) = before;
    // What is sent beside a computation slows it down.
    const Duration slowed{static_cast<Duration::rep>(
        times_.contention * static_cast<double>(std::min(second.compute, first.blocking).count()))};
    compute(clock, other, ended.blocking.begin, second, second.compute + slowed);
    end(clock, other);
    PairedTime& paired = found_.pairs[clock.lane->device.value];
    const auto add = [&](const Action& a, Duration later) {
      (a.phase == Phase::Forward ? paired.forward : paired.backward) += later;
      return later;
    };
    const Duration computed =
        first.compute + second.compute + add(other, slowed) +
        add(one, std::max(Duration{}, ended.computed - start - first.compute));
    clock.free = std::max(clock.free, ended.free);
    paired.hidden += std::clamp(sent - (clock.free - start - computed), Duration{}, sent);
    clock.unblocked = std::max(clock.unblocked, ended.unblocked);
    if (ended.blocking.end > clock.blocking.end) clock.blocking = ended.blocking;
  }

  // `takes`: its computation, slowed down by what shares the device.
  void compute(FollowedLane& clock, const Action& a, Duration input, const ActionTime& t,
               Duration takes) {
    const bool forward = a.phase == Phase::Forward;
    const std::size_t s = a.stage.value, here = place(a.stage, clock.lane->device);
    Duration ready = input;
    LayerTraffic arriving;
    if (forward && waiting_[here]) {
      waiting_[here] = false;
      ready = std::max(ready, arrived_[here]);
      if (!times_.arrive.empty()) arriving = times_.arrive[s];
    }
    const bool makes = a.phase == Phase::Backward || a.phase == Phase::BackwardWeight;
    const bool moves = !clock.moves.empty() && clock.moves[clock.next];
    if (moves)
      ready = std::max(
          ready, forward ? clock.gone[clock.copies % kHostBuffers] : come_back(clock, a, here));
    const ActionClock::Ran ran =
        clock.run(t, takes, ready, arriving, weights_[clock.lane->device.value],
                  beside(clock, a.stage, makes));
    const Duration done = ran.done;
    if (clock.starts) clock.starts->push_back(ran.start);
    if (forward && keeps_distance_) clock.forwards.push_back(ran.start);
    if (makes) reduce(clock, a.stage, ran);
    if (is_backward(a.phase)) found_.ends[s] = std::max(found_.ends[s], done);
    if (a.phase != Phase::BackwardWeight) send(clock, a, done);
    if (holdings_) note_live(a, here, ran.start, done);
    if (!forward || !clock.backward) clock.window = ran.ready, clock.backward = !forward;
    if (moves && forward) go(clock, a, here, done);
  }

  // These are copies of what a forward kept: to the host after the forward, back before the
  // backward (core/lowering/host_lanes.h).
  void go(FollowedLane& clock, const Action& a, std::size_t here, Duration done) {
    const std::size_t s = a.stage.value;
    clock.down = std::max(clock.down, done) + times_.host_copy[s];
    clock.gone[clock.copies++ % kHostBuffers] = there_[cell(s, a.microbatch)] = clock.down;
    if (holdings_) note_host_copy(here, clock.down, false);
  }
  Duration come_back(FollowedLane& clock, const Action& a, std::size_t here) {
    const std::size_t s = a.stage.value;
    const Duration begin = std::max({clock.up, clock.window, there_[cell(s, a.microbatch)]});
    if (holdings_) note_host_copy(here, begin, true);
    return clock.up = begin + times_.host_copy[s];
  }
  void note_host_copy(std::size_t here, Duration at, bool comes) {
    held_[device_index(here)].host_copy(at, comes, static_cast<std::uint32_t>(here));
  }

  // Lanes that share a device add up in one gradient unless they update for themselves: the last of
  // them completes it, when the others have ended.
  bool completes(FollowedLane& clock, StageId stage) {
    if (!clock.completes[clock.next] || asynchronous_) return clock.completes[clock.next];
    const std::size_t here = place(stage, clock.lane->device);
    if (due_[here] > 1) return false;
    Duration& stream = reduce_stream_[clock.lane->device.value];
    if (!times_.reduce_every) stream = std::max(stream, others_ended_[here]);
    return true;
  }

  // Returns the gradient reductions that run beside the lane's next action, including those of its
  // own gradients.
  ActionClock::Reducing beside(FollowedLane& clock, StageId stage, bool makes) {
    ActionClock::Reducing r{times_.contention, &reduce_stream_[clock.lane->device.value]};
    if (makes && times_.reduce_overlapped && !times_.reduce.empty() &&
        (completes(clock, stage) || times_.reduce_every))
      r.others = times_.reduce[stage.value].others;
    return r;
  }

  void reduce(FollowedLane& clock, StageId stage, const ActionClock::Ran& ran) {
    const std::size_t s = stage.value, here = place(stage, clock.lane->device);
    const bool last = completes(clock, stage);
    found_.ends[s] = std::max(found_.ends[s], ran.done);
    clock.reducing[s] = std::max(clock.reducing[s], ran.done);
    if (clock.completes[clock.next] && !asynchronous_) {
      --due_[here];
      others_ended_[here] = std::max(others_ended_[here], ran.done);
    }
    if ((!last && !times_.reduce_every) || times_.reduce.empty()) return;
    clock.reducing[s] = clock.reduce(times_.reduce[s], times_.reduce_overlapped, ran, last,
                                     reduce_stream_[clock.lane->device.value]);
    found_.reduced[s] = std::max(found_.reduced[s], clock.reducing[s]);
  }

  void update(FollowedLane& clock, const Action& a) {
    const std::size_t s = a.stage.value, here = place(a.stage, clock.lane->device);
    const bool averages = times_.averages_every > 0 && a.weights % times_.averages_every == 0;
    const std::vector<Duration>& times = averages ? times_.averaging : times_.update;
    const Duration work = times.empty() ? Duration{} : times[s];
    clock.free = std::max(clock.free, clock.reducing[s]) + work;
    if (clock.starts) clock.starts->push_back(clock.free - work);
    clock.computed = clock.free;
    arrived_[here] = clock.free + (times_.publish.empty() ? Duration{} : times_.publish[s]);
    waiting_[here] = true;
    updates_.push_back({a.microbatch, clock.free});
  }

  // Computes when the neighbour has the result: a port sends messages in order, one at a time.
  void send(FollowedLane& clock, const Action& a, Duration done) {
    const bool forward = a.phase == Phase::Forward;
    const std::size_t s = a.stage.value;
    (forward ? own_forward_ : own_input_)[cell(s, a.microbatch)] = done;
    if (forward ? s + 1 < stages_ : s > static_cast<std::size_t>(shape_.forward_only)) {
      const DeviceId from = clock.lane->device;
      const StageId next{forward ? a.stage.value + 1 : a.stage.value - 1};
      const DeviceId to = device(next, copy(a.stage, from));
      if (to != from) {
        Duration& link = clock.links[forward ? 0 : 1][to < from ? 0 : 1];
        link = done = (ports_ ? std::max(done, link) : done) + times_.transfer;
        if (times_.blocking_sends) clock.free = std::max(clock.free, done);
      }
    }
    (forward ? forward_ : backward_)[cell(s, a.microbatch)] = done;
  }

  // Computes the steady time per step. It is taken from the step in the middle, when the pipeline
  // has filled and does not yet drain, from the end of all updates before it to the end of its own
  // updates.
  void pace() {
    std::int32_t most = 0;
    for (const auto& [index, end] : updates_) most = std::max(most, index);
    const std::int64_t each = std::max(1, (most + 1) / std::max(1, shape_.steps));
    Duration last{}, before{};
    for (const auto& [index, end] : updates_) {
      const std::int64_t step = index / each;
      if (step == shape_.steps / 2) last = std::max(last, end);
      if (step == shape_.steps / 2 - 1) before = std::max(before, end);
    }
    found_.paced = true;
    found_.span = last - before;
  }

  void note_live(const Action& a, std::size_t here, Duration start, Duration done) {
    const bool alone = a.stage.value < static_cast<std::uint32_t>(shape_.forward_only);
    held_[device_index(here)].action(a.phase, static_cast<std::uint32_t>(here), start, done, alone);
    note_version(a, here);
  }
  std::size_t device_index(std::size_t here) const {
    return device(StageId{static_cast<std::uint32_t>(here / copies_)}, here % copies_).value;
  }

  // Counts the versions that readers of one copy have in flight at once, beside the newest.
  void note_version(const Action& a, std::size_t here) {
    if (!asynchronous_) return;
    auto& readers = older_[here];
    if (a.phase == Phase::Forward) readers.insert(a.weights);
    std::set<int> distinct(readers.begin(), readers.end());
    most_versions_[here] = std::max(most_versions_[here], static_cast<int>(distinct.size()) - 1);
    if (a.phase != Phase::Forward && a.phase != Phase::BackwardInput)
      if (const auto one = readers.find(a.weights); one != readers.end()) readers.erase(one);
  }

  void count_live() {
    const std::size_t places = stages_ * copies_;
    found_.live.assign(places, 0);
    for (HeldOverTime& held : held_) {
      found_.moments.push_back(held.moments());
      for (const HeldMoment& moment : found_.moments.back())
        for (const HeldCount& count : moment.counts)
          found_.live[count.copy] = std::max(found_.live[count.copy], count.live);
    }
    if (asynchronous_) {
      found_.older_versions.assign(places, 0);
      for (const auto& [at, count] : most_versions_) found_.older_versions[at] = count;
    }
  }

  const Order& order_;
  const ScheduleShape& shape_;
  const PipelineTimes& times_;
  std::size_t stages_, copies_;
  bool asynchronous_, holdings_, ports_;
  std::vector<FollowedLane> clocks_;
  // Both have an entry for each copy of a stage and are used where updates end the step: due_
  // counts the lanes that have not run their last backward, others_ended_ is when the rest had
  // ended it.
  std::vector<int> due_;
  std::vector<Duration> others_ended_;
  bool keeps_distance_ = false;               // whether a lane is behind another
  std::vector<int> lanes_on_;                 // by device
  std::vector<Duration> weights_;             // by device: when its gather stream is idle again
  std::vector<Duration> reduce_stream_;       // by device: when its reduce stream is idle again
  std::vector<DeviceId> devices_;             // by copy of a stage
  std::vector<Duration> forward_, backward_;  // when a stage's result has reached its neighbour
  std::vector<Duration> own_forward_, own_input_;  // when the stage itself has it
  std::vector<Duration> arrived_;  // by copy of a stage: when the weights of its last update are
                                   // there
  std::vector<bool> waiting_;      // whether the first forward after it has not run yet
  std::vector<std::pair<std::int32_t, Duration>> updates_;  // index and end of each update
  std::vector<Duration> there_;  // by cell: when its activations are on the host
  std::multimap<ActionKey, ActionKey> before_;
  std::map<ActionKey, Duration> ended_;  // only where there are precedences
  std::vector<HeldOverTime> held_;       // by device
  std::vector<std::multiset<int>> older_;
  std::map<std::size_t, int> most_versions_;
  PipelineEstimate found_;
};

}  // namespace

PipelineEstimate follow(const Order& order, const ScheduleShape& shape, const PipelineTimes& times,
                        const FollowOptions& options) {
  return Recurrence(order, shape, times, options).run();
}

}  // namespace trainyard
