#include "core/lowering/transfers.h"

#include <algorithm>

#include "core/lowering/phases.h"

namespace trainyard {
namespace {

constexpr std::size_t kNoDevice = static_cast<std::size_t>(-1);

bool hands_on(Phase phase) {
  return phase == Phase::Forward || phase == Phase::Backward || phase == Phase::BackwardInput;
}

}  // namespace

Transfers::Transfers(const Workload& w, const StageCopies& places, const Boundaries& boundaries,
                     const Order& order, Draft& draft, std::int32_t microbatches)
    : w_(w),
      places_(places),
      order_(order),
      draft_(draft),
      stages_(w.table.size()),
      forward_only_(static_cast<std::uint32_t>(forward_only_stages(w.scenario.model, w.table))) {
  forward_.resize(stages_ * static_cast<std::size_t>(microbatches));
  backward_.resize(forward_.size());
  find_links();
  make_tasks(boundaries);
}

DeviceId Transfers::destination(DeviceId from, const Action& a) const {
  const bool forward = a.phase == Phase::Forward;
  if (forward ? a.stage.value + 1 == stages_ : a.stage.value <= forward_only_) return {};
  const StageId next{forward ? a.stage.value + 1 : a.stage.value - 1};
  const DeviceId to = places_.device(next, places_.copy(a.stage, from));
  return to == from ? DeviceId{} : to;
}

void Transfers::find_links() {
  constexpr std::size_t kUnseen = kNoDevice - 1;
  link_of_.assign(order_.lanes.size() * stages_ * 2, kUnseen);
  for (std::uint32_t lane = 0; lane < order_.lanes.size(); ++lane)
    for (const Action& a : order_.lanes[lane].actions) {
      if (!hands_on(a.phase) || link_of(lane, a) != kUnseen) continue;
      const DeviceId from = order_.lanes[lane].device, to = destination(from, a);
      const bool forward = a.phase == Phase::Forward;
      const auto same = std::find_if(links_.begin(), links_.end(), [&](const Link& link) {
        return link.lane == lane && link.to == to && link.forward == forward;
      });
      link_of(lane, a) = to.valid() ? static_cast<std::size_t>(same - links_.begin()) : kNoDevice;
      if (to.valid() && same == links_.end()) links_.push_back({lane, from, to, forward});
    }
}

void Transfers::make_tasks(const Boundaries& boundaries) {
  const auto make = [&](TaskKind kind, Phase phase, StageId stage, std::string_view name,
                        Bytes bytes, BufferId buffer) {
    Task task;
    task.kind = kind;
    task.phase = phase;
    task.stage = stage;
    task.name = draft_.name(name);
    task.pass = draft_.name("connect_stages");
    task.group = Group::Pipeline;
    task.bytes = bytes;
    const TaskId id = draft_.task(task);
    const bool sends = kind == TaskKind::Send;
    if (buffer.valid()) draft_.effect(id, buffer, !sends, sends);
    return id;
  };
  const auto bytes = [&](std::size_t s) -> const PhaseBytes& {
    return phase_bytes(w_, StageId{static_cast<std::uint32_t>(s)});
  };
  for (std::size_t place = 0; place < places_.size(); ++place) {
    const StageId stage = places_[place].stage;
    const std::size_t s = stage.value;
    const Boundary& b = boundaries[place];
    const auto held = [](bool by_message, BufferId buffer) {
      return by_message ? buffer : BufferId{};
    };
    tasks_.push_back(
        {make(TaskKind::Send, Phase::Forward, stage, "send activations", bytes(s).send_forward,
              held(b.sends_forward, b.forward_out)),
         make(TaskKind::Receive, Phase::Forward, stage, "receive activations",
              s > 0 ? bytes(s - 1).send_forward : Bytes{}, held(b.receives_forward, b.forward_in)),
         make(TaskKind::Send, Phase::Backward, stage, "send gradients", bytes(s).send_backward,
              held(b.sends_backward, b.backward_out)),
         make(TaskKind::Receive, Phase::Backward, stage, "receive gradients",
              s + 1 < stages_ ? bytes(s + 1).send_backward : Bytes{},
              held(b.receives_backward, b.backward_in))});
  }
}

void Transfers::add_streams(DeviceId device) {
  for (const bool forward : {true, false}) {
    const auto is_end = [&](const Link& link, bool sends) {
      return link.forward == forward && (sends ? link.from : link.to) == device;
    };
    const std::string direction = forward ? "forward" : "backward";
    for (const bool sends : {true, false}) {
      const auto ends = std::count_if(links_.begin(), links_.end(),
                                      [&](const Link& link) { return is_end(link, sends); });
      for (Link& link : links_) {
        if (!is_end(link, sends)) continue;
        std::string name = (sends ? "send " : "receive ") + direction;
        // A plain pipeline has one link in each direction; if there are more, their names
        // distinguish them.
        if (ends > 1)
          name +=
              (sends ? " to d" : " from d") + std::to_string((sends ? link.to : link.from).value);
        const bool waves = std::count_if(order_.lanes.begin(), order_.lanes.end(),
                                         [&](const Lane& l) { return l.device == link.from; }) > 1;
        if (ends > 1 && waves) name += " " + order_.lanes[link.lane].name;
        (sends ? link.send : link.receive) = draft_.stream(device, std::move(name), false);
      }
    }
  }
}

void Transfers::post(std::int32_t first) {
  for (std::uint32_t lane = 0; lane < order_.lanes.size(); ++lane)
    for (const Action& a : order_.lanes[lane].actions) {
      if (!hands_on(a.phase)) continue;
      const std::size_t at = link_of(lane, a);
      if (at == kNoDevice) continue;
      const Link& link = links_[at];
      const bool forward = a.phase == Phase::Forward;
      const std::uint32_t next = forward ? a.stage.value + 1 : a.stage.value - 1;
      const std::int32_t microbatch = first + a.microbatch;
      const Tasks &from = tasks_[places_.of(a.stage, link.from)],
                  &to = tasks_[places_.of(StageId{next}, link.to)];
      Message& message = (forward ? forward_ : backward_)[cell(a.stage, microbatch)];
      message.send = draft_.add(link.send, forward ? from.send_forward : from.send_backward,
                                microbatch, {}, a.wave);
      message.receive = draft_.add(link.receive, forward ? to.receive_forward : to.receive_backward,
                                   microbatch, {}, a.wave);
      draft_.pair(message.send, message.receive);
    }
}

Ref Transfers::received(Phase phase, StageId stage, std::int32_t microbatch) const {
  if (phase == Phase::Forward)
    return stage.value == 0 ? Ref{} : forward_[cell({stage.value - 1}, microbatch)].receive;
  return stage.value + 1 == stages_ ? Ref{}
                                    : backward_[cell({stage.value + 1}, microbatch)].receive;
}

Ref Transfers::send_after(Phase phase, StageId stage, std::int32_t microbatch, const Refs& done) {
  const Message& message =
      (phase == Phase::Forward ? forward_ : backward_)[cell(stage, microbatch)];
  if (message.send.valid()) draft_.after(message.send, done);
  return message.send;
}

}  // namespace trainyard
