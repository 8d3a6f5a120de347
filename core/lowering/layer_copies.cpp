#include "core/lowering/layer_copies.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace trainyard {
LeavingBytes leaving_bytes(const Workload& w, const Body& body) {
  const TensorId output =
      w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph.output;
  LeavingBytes sum;
  for (const SavedTensor& saved : body.saved) {
    if (!saved.leaves) continue;
    sum.all += saved.bytes;
    if (saved.tensor == output) sum.output += saved.bytes;
  }
  return sum;
}

std::vector<LeavingBytes> leaving_bytes(const Workload& w, StageId stage) {
  std::vector<LeavingBytes> layers;
  for (const Workload::Run& run : w.runs[stage.value])
    layers.insert(layers.end(), static_cast<std::size_t>(run.count),
                  leaving_bytes(w, w.bodies[static_cast<std::size_t>(run.body)]));
  return layers;
}

Bytes most_in_motion(const Workload& w, StageId stage) {
  const std::vector<LeavingBytes> layers = leaving_bytes(w, stage);
  const std::size_t in_flight = w.layout.layers_in_flight;
  Bytes now{}, most{};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    now += layers[i].all;
    Bytes before{};
    if (i > in_flight) {
      now -= layers[i - in_flight - 1].all;
      before = layers[i - in_flight - 1].output;
    }
    most = std::max(most, now + before);
  }
  return most;
}

Bytes away_bytes(const Workload& w, StageId stage, bool turn) {
  const std::vector<LeavingBytes> layers = leaving_bytes(w, stage);
  Bytes sum{};
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (!turn || !stays_in_turn(i, layers.size(), w.layout.layers_in_flight)) sum += layers[i].all;
  return sum;
}

std::vector<bool> turns(const Lane& lane) {
  std::vector<bool> found(lane.actions.size(), false);
  for (std::size_t i = 1; i < lane.actions.size(); ++i) {
    const Action &forward = lane.actions[i - 1], &backward = lane.actions[i];
    if (forward.phase == Phase::Forward && backward.phase == Phase::Backward &&
        forward.stage == backward.stage && forward.microbatch == backward.microbatch)
      found[i - 1] = found[i] = true;
  }
  return found;
}

LayerCopies::LayerCopies(const Workload& w, const StageCopies& places, const Order& order,
                         Draft& draft)
    : places_(places), draft_(draft), in_flight_(w.layout.layers_in_flight) {
  streams_.resize(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  moves_.resize(order.lanes.size());
  for (std::size_t lane = 0; lane < moves_.size(); ++lane)
    moves_[lane].turns = turns(order.lanes[lane]);
}

void LayerCopies::set_streams(DeviceId device, std::uint32_t down, std::uint32_t up) {
  streams_[device.value] = {down, up};
}

void LayerCopies::add_place(const std::vector<LeavingLayer>& layers) {
  const StageId stage = places_[copies_.size()].stage;
  std::vector<Copies> all;
  const auto copy = [&](const LeavingLayer& layer, const std::vector<BufferId>& buffers,
                        bool down) {
    if (buffers.empty()) return TaskId{};
    Task task;
    task.kind = TaskKind::HostCopy;
    task.phase = down ? Phase::Forward : Phase::Backward;
    task.stage = stage;
    task.name = draft_.name(down ? "activations to host" : "activations from host");
    task.pass = draft_.name("offload");
    task.layer = layer.layer;
    for (const BufferId id : buffers) task.bytes += draft_.program.buffers[id.value].bytes;
    const TaskId id = draft_.task(task);
    for (const BufferId buffer : buffers) draft_.effect(id, buffer, !down, down);
    return id;
  };
  const auto with = [](std::vector<BufferId> buffers, BufferId output) {
    if (output.valid()) buffers.push_back(output);
    return buffers;
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LeavingLayer& layer = layers[i];
    Copies copies;
    copies.down = copy(layer, with(layer.kept, i > 0 ? layers[i - 1].output : BufferId{}), true);
    copies.output = copy(layer, with({}, layer.output), true);
    copies.up = copy(layer, with(layer.kept, layer.output), false);
    copies.forward = layer.forward, copies.backward = layer.backward;
    all.push_back(std::move(copies));
  }
  copies_.push_back(std::move(all));
}

void LayerCopies::begin(std::size_t lane, std::size_t action, std::size_t place, const Action& a) {
  lane_ = lane, place_ = place, action_ = a;
  turns_ = moves_[lane].turns[action];
}

bool LayerCopies::stays(std::size_t layer) const {
  return turns_ && stays_in_turn(layer, copies_[place_].size(), in_flight_);
}

Refs LayerCopies::before(std::size_t layer, const Refs& ready) {
  Moves& moves = moves_[lane_];
  const Copies& copies = copies_[place_][layer];
  const bool forward = action_.phase == Phase::Forward;
  Step step{ready, forward ? &copies.forward : &copies.backward, {}, {}, {}};
  Refs waits;
  if (forward) {
    if (moves.down.size() > in_flight_) waits.add(moves.down.front());
  } else if (copies.up.valid() && !stays(layer)) {
    const auto there = moves.there.find(key(layer));
    step.there = there->second, step.copy = copies.up;
    moves.there.erase(there);
    step.up = draft_.add(streams_[places_[place_].device.value].up, copies.up, action_.microbatch,
                         {}, action_.wave, action_.weights);
    waits.add(step.up);
  }
  step.ready.add(waits);
  moves.steps.push_back(std::move(step));
  return waits;
}

Ref LayerCopies::send(TaskId copy, const Refs& gone) {
  Moves& moves = moves_[lane_];
  const Ref down = draft_.add(streams_[places_[place_].device.value].down, copy, action_.microbatch,
                              gone, action_.wave, action_.weights);
  moves.down.push_back(down);
  if (moves.down.size() > in_flight_ + 1) moves.down.pop_front();
  return down;
}

// Copies of a device go down in order, so that a layer is with the host when the last of its copies
// has ended.
void LayerCopies::after(std::size_t layer, const Refs& done) {
  const std::vector<Copies>& copies = copies_[place_];
  const bool output_before = layer > 0 && copies[layer - 1].output.valid() && !stays(layer - 1);
  if (stays(layer) && !output_before) return;
  const TaskId copy = stays(layer) ? copies[layer - 1].output : copies[layer].down;
  if (!copy.valid()) return;
  const Ref down = send(copy, done);
  if (output_before) moves_[lane_].there[key(layer - 1)] = down;
  if (!stays(layer) && copies[layer].up.valid()) moves_[lane_].there[key(layer)] = down;
}

void LayerCopies::end(const Refs& gone) {
  const std::size_t last = copies_[place_].size() - 1;
  if (const TaskId output = copies_[place_][last].output; output.valid() && !stays(last))
    moves_[lane_].there[key(last)] = send(output, gone);
}

void LayerCopies::start_with(const Moves& moves, std::size_t at, std::size_t distance) {
  Refs after;
  if (distance <= at) after = moves.steps[at - distance].ready;
  after.add(moves.steps[at].there);
  draft_.after(moves.steps[at].up, after);
}

// Copies end as late as they may, from the last to the first, so that each begins with the nearest
// step that serves. One that no step within reach hides begins with the farthest.
void LayerCopies::choose_starts(const Moves& moves, const std::vector<Duration>& times) {
  const auto sum = [&](const Step& step) {
    return std::accumulate(step.tasks->begin(), step.tasks->end(), Duration{},
                           [&](Duration all, TaskId task) { return all + times[task.value]; });
  };
  std::vector<Duration> starts{Duration{}};
  for (const Step& step : moves.steps) starts.push_back(starts.back() + sum(step));
  Duration next = starts.back();  // when the copy behind has to begin
  for (std::size_t at = moves.steps.size(); at-- > 0;) {
    const Step& step = moves.steps[at];
    if (!step.up.valid()) continue;
    const Duration latest = std::min(next, starts[at]) - times[step.copy.value];
    std::size_t distance = 1;
    while (distance < in_flight_ && distance < at && starts[at - distance] > latest) ++distance;
    start_with(moves, at, distance);
    next = std::max(latest, distance <= at ? starts[at - distance] : Duration{});
  }
}

void LayerCopies::choose_starts(const std::function<std::vector<Duration>(const Program&)>& price) {
  std::vector<Duration> times;
  if (price && in_flight_ > 1) times = price(draft_.program);
  for (const Moves& moves : moves_) {
    if (!times.empty()) {
      choose_starts(moves, times);
      continue;
    }
    for (std::size_t at = 0; at < moves.steps.size(); ++at)
      if (moves.steps[at].up.valid()) start_with(moves, at, in_flight_);
  }
}

}  // namespace trainyard
