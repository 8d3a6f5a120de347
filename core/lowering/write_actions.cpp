#include "core/lowering/lane_facts.h"
#include "core/lowering/update_weights.h"

namespace trainyard {
namespace {

/// The action, which is number `at` of its lane, with its transfers before and after it. It also
/// waits for what `partner` receives, with which it runs together.
void write(Lowering& l, std::size_t index, LaneState& lane, const Action& a, const Action* partner,
           Moment moment, std::size_t at) {
  const DeviceId device = l.order.lanes[index].device;
  const std::size_t place = l.places.of(a.stage, device);
  Refs inputs;
  if (a.phase != Phase::BackwardWeight)
    inputs.add(l.transfers.received(a.phase, a.stage, a.microbatch));
  if (partner != nullptr)
    inputs.add(l.transfers.received(partner->phase, partner->stage, partner->microbatch));
  if (moment.first_forward) inputs.add(l.arrived[index][place]);
  const bool moves_to_host = l.host.moves(index, at);
  LayerCopies* const layers = l.host.layers();
  if (layers != nullptr) layers->begin(index, at, place, a);
  if (l.host.moves_stages()) {
    if (moves_to_host) inputs.add(l.host.before(index, place, a));
    Refs start = inputs;
    start.add(lane.tail);
    l.host.begins(index, a.phase, start);
  }
  if (moment.completes && !l.asynchronous)
    for (std::size_t other = 0; other < index; ++other)
      if (l.order.lanes[other].device == device) moment.others.add(l.reduced[other][place]);
  const Written written = l.writer->write(a, place, moment, lane, inputs);
  if (moment.last_backward)
    l.reduced[index][place] = written.reduced.empty() ? written.done : written.reduced;
  Ref sent;
  if (a.phase != Phase::BackwardWeight) {
    sent = l.transfers.send_after(a.phase, a.stage, a.microbatch, written.done);
    if (l.workload.layout.blocking_sends) lane.tail.add(sent);
  }
  if ((moves_to_host || layers != nullptr) && a.phase == Phase::Forward) {
    Refs gone = written.done;
    // An output that the stage keeps leaves from where it is kept.
    if (!l.boundaries[place].sends_forward) gone.add(sent);
    if (layers != nullptr)
      layers->end(gone);
    else
      l.host.take(index, place, a, gone);
  }
  if (l.keeps_actions) l.actions_of(a.phase)[l.cell(a.stage, a.microbatch)] = {written, device};
}

/// The computations of a pair alternate wherever one of them waits for messages, so that each hides
/// the other's. Where an action is one computation, the messages of the second come first.
void take_turns(Draft& draft, const LaneState& one, const LaneState& other) {
  if (one.sent_first.valid() && other.sent_ahead.valid())
    draft.wait(one.sent_first, other.sent_ahead);
  const std::vector<Stint>&first = one.stints, &second = other.stints;
  for (std::size_t i = 0; i < second.size(); ++i) {
    if (i < first.size()) draft.wait(second[i].first, first[i].last);
    if (i + 1 < first.size()) draft.wait(first[i + 1].first, second[i].last);
  }
}

/// What a lane's actions mean for weights and gradients, by action.
struct LaneFacts {
  std::vector<Moment> moments;
  std::vector<int> held_versions;
};

void walk(Lowering& l, std::size_t index, const LaneFacts& facts, int walk) {
  const Lane& lane = l.order.lanes[index];
  const auto of_walk = [&](std::size_t i) {
    Action action = lane.actions[i];
    if (!l.asynchronous && action.phase != Phase::Update) {
      action.microbatch += walk * l.microbatches;
      action.weights = static_cast<std::int16_t>(walk);
    }
    return action;
  };
  const auto write_one = [&](std::size_t i, LaneState& state, const Action* partner) {
    write(l, index, state, of_walk(i), partner, facts.moments[i], i);
  };
  LaneState& state = l.lanes[index];
  for (std::size_t i = 0; i < lane.actions.size(); ++i) {
    if (lane.actions[i].phase == Phase::Update) {
      update_in_lane(l, index, lane.actions[i], facts.held_versions[i]);
    } else if (!begins_pair(lane, i)) {
      write_one(i, state, nullptr);
    } else {
      const Action first = of_walk(i), second = of_walk(i + 1);
      LaneState& paired = l.paired[index];
      paired.tail = state.tail, paired.last_compute = state.last_compute;
      state.in_pair = paired.in_pair = true;
      write_one(i, state, &second);
      paired.scattered = state.scattered;
      write_one(++i, paired, &first);
      take_turns(l.draft, state, paired);
      state.tail.add(paired.tail);
      state.scattered = paired.scattered;
      state.in_pair = false;
    }
  }
}

}  // namespace

void write_actions(Lowering& l) {
  std::vector<LaneFacts> facts;
  for (const Lane& lane : l.order.lanes)
    facts.push_back({moments(l.order, facts.size(), l.stages), held_versions(lane, l.stages)});
  l.reduced.assign(l.lanes.size(), std::vector<Refs>(l.places.size()));
  l.arrived = l.reduced;
  // A device's only lane works in order: it is other lanes that ask what an action left.
  l.keeps_actions = !l.order.precedences.empty() ||
                    l.lanes.size() > static_cast<std::size_t>(l.workload.scenario.plan.mesh.pp);
  if (l.keeps_actions)
    for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::BackwardWeight})
      l.actions_of(phase).resize(l.stages * static_cast<std::size_t>(l.microbatches * l.steps));
  for (int w = 0; w < l.walks(); ++w) {
    l.transfers.post(w * l.microbatches);
    for (std::size_t i = 0; i < l.lanes.size(); ++i) {
      if (l.stop.requested()) throw Error(Error::Kind::Cancelled, "lowering was stopped");
      walk(l, i, facts[i], w);
    }
    if (!l.asynchronous) update_after_step(l, w);
  }
}

}  // namespace trainyard
