// Makes the smallest program that follows an order: one instruction per action, one stream per
// lane, and waits for data between stages. Tests of orders and of facts use it without a model.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/lowering/draft.h"
#include "core/program/order.h"
#include "core/program/program.h"

namespace trainyard::testing {

/// Forwards wait for the stage before, backwards for the one after, reads for the update that
/// writes what they read, and updates for the one before them. Nothing is sent inside actions, so
/// that those of a pair follow each other, and the first also waits for what the second needs. An
/// order without updates gets one
/// for each stage at its end, as in lowering, and is repeated for `shape.steps`.
inline Program follow(const Order& order, const ScheduleShape& shape) {
  Draft draft;
  const auto u = [](int i) { return static_cast<std::uint32_t>(i); };
  std::vector<TaskId> tasks;  // by stage, then phase
  constexpr Phase kPhases[] = {Phase::Forward, Phase::Backward, Phase::BackwardInput,
                               Phase::BackwardWeight, Phase::Update};
  for (int s = 0; s < shape.stages; ++s)
    for (Phase phase : kPhases) {
      Task task;
      task.phase = phase, task.stage = {u(s)};
      task.name = draft.name("work"), task.pass = draft.name("test");
      tasks.push_back(draft.task(task));
    }
  std::vector<std::uint32_t> streams;
  for (const Lane& lane : order.lanes)
    streams.push_back(draft.stream(lane.device, lane.name, true, lane.delay));
  std::map<std::tuple<Phase, std::uint32_t, std::int32_t>, Ref> there;
  std::map<std::tuple<std::uint32_t, int, int>, Ref> writers;  // stage, wave, version
  std::map<std::pair<std::uint32_t, int>, Ref> any_writer;     // stage, version
  std::vector<std::pair<Action, Ref>> written;
  const bool updates = has_updates(order);
  for (int step = 0; step < (updates ? 1 : shape.steps); ++step) {
    for (std::size_t l = 0; l < order.lanes.size(); ++l)
      for (Action a : order.lanes[l].actions) {
        a.microbatch += a.phase == Phase::Update ? 0 : step * shape.microbatches;
        if (!updates) a.weights = static_cast<std::int16_t>(step);
        const Ref ref = draft.add(streams[l], tasks[a.stage.value * 5 + u(int(a.phase))],
                                  a.microbatch, {}, a.wave, a.weights);
        there[{a.phase, a.stage.value, a.microbatch}] = ref;
        if (a.phase == Phase::Update) {
          writers[{a.stage.value, a.wave, a.weights}] = ref;
          any_writer[{a.stage.value, a.weights}] = ref;
        }
        written.push_back({a, ref});
      }
    for (int s = 0; !updates && s < shape.stages; ++s)
      for (int copy = 0; copy < copies(shape.placement); ++copy) {
        const DeviceId device =
            device_of({u(s)}, shape.devices, shape.stages, shape.placement, copy);
        for (std::size_t l = 0; l < order.lanes.size(); ++l)
          if (order.lanes[l].device == device) {
            draft.add(streams[l], tasks[u(s) * 5 + 4], step, {}, static_cast<std::int16_t>(copy),
                      static_cast<std::int16_t>(step + 1));
            break;
          }
      }
  }
  const auto wait = [&](Ref ref, Phase phase, std::uint32_t stage, std::int32_t microbatch) {
    const auto at = there.find({phase, stage, microbatch});
    if (at != there.end()) draft.wait(ref, at->second);
  };
  const std::size_t all = written.size();
  for (std::size_t i = 1; i < all; ++i)
    if (written[i].first.paired) written.push_back({written[i].first, written[i - 1].second});
  for (const auto& [a, ref] : written) {
    if (a.phase == Phase::Forward && a.stage.value > 0)
      wait(ref, Phase::Forward, a.stage.value - 1, a.microbatch);
    if (a.phase == Phase::Backward || a.phase == Phase::BackwardInput) {
      wait(ref, Phase::Forward, a.stage.value, a.microbatch);
      wait(ref, Phase::Backward, a.stage.value + 1, a.microbatch);
      wait(ref, Phase::BackwardInput, a.stage.value + 1, a.microbatch);
    }
    if (a.phase == Phase::BackwardWeight)
      wait(ref, Phase::BackwardInput, a.stage.value, a.microbatch);
    const int needed = a.phase == Phase::Update ? a.weights - 1 : a.weights;
    const auto own = writers.find({a.stage.value, a.wave, needed});
    const auto any = any_writer.find({a.stage.value, needed});
    if (own != writers.end())
      draft.wait(ref, own->second);
    else if (any != any_writer.end())
      draft.wait(ref, any->second);
  }
  for (const Precedence& p : order.precedences)
    draft.wait(there.at({p.after.phase, p.after.stage.value, p.after.microbatch}),
               there.at({p.before.phase, p.before.stage.value, p.before.microbatch}));
  Program program = draft.finish();
  program.devices = shape.devices, program.stages = shape.stages;
  program.placement = shape.placement;
  program.microbatches = shape.microbatches, program.steps = shape.steps;
  return program;
}

}  // namespace trainyard::testing
