// Small programs and their timelines, for tests that need one without lowering a model.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/lowering/draft.h"
#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard::testing {

struct Pipeline {
  int devices = 2, microbatches = 3;
  Bytes weights{1000}, activations{100}, workspace{10};
};

/// GPipe with one stage per device: streams "compute", "send forward", "receive forward", "send
/// backward", "receive backward". Forward allocates the activations at its start, backward releases
/// them at its end; both use workspace while they run. One update at the end waits for a collective
/// "reduce gradients" on the stream "reduce".
inline Program pipeline(const Pipeline& shape = {}) {
  Draft draft;
  const int p = shape.devices, n = shape.microbatches;
  std::vector<std::vector<Ref>> forward_sends(static_cast<std::size_t>(p)),
      backward_receives = forward_sends;
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const auto task = [&](TaskKind kind, Phase phase, int stage, std::string_view name,
                        Bytes bytes = {}) {
    Task made;
    made.kind = kind, made.phase = phase, made.stage = {static_cast<std::uint32_t>(stage)};
    made.name = draft.name(name), made.pass = draft.name("test"), made.bytes = bytes;
    made.group = kind == TaskKind::Collective ? Group::Data : Group::Pipeline;
    return draft.task(made);
  };
  const auto buffer = [&](int stage, std::string_view name, Category category, Bytes bytes,
                          bool persistent) {
    Buffer made;
    made.name = draft.name(name), made.stage = {static_cast<std::uint32_t>(stage)};
    made.device = {static_cast<std::uint32_t>(stage)};
    made.category = category, made.bytes = bytes, made.persistent = persistent;
    return draft.buffer(made);
  };
  std::vector<Ref> waiting_receives;  // for gradients, of the previous device
  for (int d = 0; d < p; ++d) {
    const DeviceId device{static_cast<std::uint32_t>(d)};
    buffer(d, "weights", Category::Weights, shape.weights, true);
    const BufferId kept = buffer(d, "activations", Category::Activations, shape.activations, false);
    const BufferId scratch = buffer(d, "workspace", Category::Workspace, shape.workspace, false);
    const TaskId forward = task(TaskKind::Compute, Phase::Forward, d, "forward");
    draft.effect(forward, kept, true, false);
    draft.effect(forward, scratch, true, false);
    draft.effect(forward, scratch, false, true);
    const TaskId backward = task(TaskKind::Compute, Phase::Backward, d, "backward");
    draft.effect(backward, scratch, true, false);
    draft.effect(backward, scratch, false, true);
    draft.effect(backward, kept, false, true);
    const TaskId update = task(TaskKind::Compute, Phase::Update, d, "optimizer");
    const TaskId reduce = task(TaskKind::Collective, Phase::Backward, d, "reduce gradients", {64});
    const TaskId send_forward = task(TaskKind::Send, Phase::Forward, d, "send activations", {8});
    const TaskId receive_forward =
        task(TaskKind::Receive, Phase::Forward, d, "receive activations", {8});
    const TaskId send_backward = task(TaskKind::Send, Phase::Backward, d, "send gradients", {8});
    const TaskId receive_backward =
        task(TaskKind::Receive, Phase::Backward, d, "receive gradients", {8});
    const std::uint32_t compute = draft.stream(device, "compute", true),
                        sf = draft.stream(device, "send forward", false),
                        rf = draft.stream(device, "receive forward", false),
                        sb = draft.stream(device, "send backward", false),
                        rb = draft.stream(device, "receive backward", false),
                        comm = draft.stream(device, "reduce", false);
    Refs last;
    for (int m = 0; m < n; ++m) {
      Refs inputs, done;
      if (d > 0) {
        const Ref receive = draft.add(rf, receive_forward, m, {});
        draft.pair(forward_sends[at(d - 1)][at(m)], receive);
        inputs.add(receive);
      }
      done.add(draft.add(compute, forward, m, inputs));
      if (d + 1 < p) forward_sends[at(d)].push_back(draft.add(sf, send_forward, m, done));
    }
    for (int m = 0; m < n; ++m) {
      Refs inputs, done;
      if (d + 1 < p) {
        backward_receives[at(d)].push_back(draft.add(rb, receive_backward, m, {}));
        inputs.add(backward_receives[at(d)].back());
      }
      done.add(draft.add(compute, backward, m, inputs));
      if (d > 0)
        draft.pair(draft.add(sb, send_backward, m, done), backward_receives[at(d - 1)][at(m)]);
      last = done;
    }
    Refs reduced;
    reduced.add(draft.add(comm, reduce, 0, last));
    draft.add(compute, update, 0, reduced);
  }
  Program program = draft.finish();
  program.devices = program.stages = p;
  program.microbatches = n;
  return program;
}

/// Runs a program that verify() accepts: everything starts as soon as possible and takes
/// length(task).
inline Timeline play(const Program& program, const std::function<Duration(const Task&)>& length) {
  Timeline timeline;
  timeline.spans.resize(program.instructions.size());
  std::vector<bool> done(program.instructions.size(), false);
  std::vector<std::uint32_t> next(program.streams.size(), 0);
  std::vector<Instant> free(program.streams.size());
  for (std::size_t s = 0; s < program.streams.size(); ++s) free[s] = program.streams[s].delay;
  // When the head of a stream can start; false if something for which it waits has not ended.
  const auto start = [&](std::size_t s, Instant& at) {
    const Stream& stream = program.streams[s];
    if (next[s] == stream.count) return false;
    const Instruction& in = program.instructions[stream.first + next[s]];
    at = free[s];
    for (std::uint32_t a = in.first_after; a < in.first_after + in.afters; ++a) {
      if (!done[program.after[a].value]) return false;
      at = std::max(at, timeline.spans[program.after[a].value].end);
    }
    return true;
  };
  const auto stream_of = [&](InstructionId id) {
    std::size_t s = 0;
    while (id.value - program.streams[s].first >= program.streams[s].count) ++s;
    return s;
  };
  const auto finish = [&](std::size_t s, Instant at) {
    const std::uint32_t i = program.streams[s].first + next[s]++;
    timeline.spans[i] = {at, at + length(program.task(InstructionId{i}))};
    done[i] = true;
    free[s] = timeline.spans[i].end;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < program.streams.size(); ++s) {
      Instant at, other;
      if (!start(s, at)) continue;
      const InstructionId peer = program.instructions[program.streams[s].first + next[s]].peer;
      if (peer.valid()) {
        const std::size_t t = stream_of(peer);
        if (program.streams[t].first + next[t] != peer.value || !start(t, other)) continue;
        at = std::max(at, other);
        finish(t, at);
      }
      finish(s, at);
      moved = true;
    }
  }
  return timeline;
}

}  // namespace trainyard::testing
