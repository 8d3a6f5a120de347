#include "core/lowering/update_weights.h"

#include <cstdlib>
#include <string_view>

#include "core/lowering/phases.h"
#include "core/methods/schedules/wave_average.h"

namespace trainyard {
namespace {

BufferId older_weights(Lowering& l, std::size_t place) {
  const auto [entry, is_new] = l.older_weights.try_emplace(place);
  if (!is_new) return entry->second;
  Buffer buffer;
  buffer.name = l.draft.name("weights, older versions");
  buffer.stage = l.places[place].stage;
  buffer.device = l.places[place].device;
  buffer.category = Category::Weights;
  buffer.holds = Holds::OlderWeights;
  buffer.bytes = stage_state(l.workload, l.places[place].stage).total.weights;
  return entry->second = l.draft.buffer(buffer);
}

TaskId update_task(Lowering& l, const Lowering::UpdateKind& kind) {
  const auto [entry, is_new] = l.update_tasks.try_emplace(kind);
  if (!is_new) return entry->second;
  const StageCopy& at = l.places[kind.place];
  BufferId older;
  if (kind.grows != 0) older = older_weights(l, kind.place);
  Task task;
  task.phase = Phase::Update;
  task.stage = at.stage;
  task.name = l.draft.name(kind.averages ? "optimizer, mean of the waves" : "optimizer");
  task.pass = l.draft.name("update_weights");
  entry->second = l.draft.task(task);
  const StageWork& work = stage_work(l.workload, at.stage);
  for (const WorkCount& c : kind.averages ? work.averaging : work.update)
    l.draft.work(entry->second, c.work, c.count, c.pass, false);
  for (int i = 0; i < std::abs(kind.grows); ++i)
    l.draft.effect(entry->second, older, kind.grows > 0, false);
  return entry->second;
}

/// Gathers what ZeRO has divided, and returns what the next forward waits for.
Refs gather(Lowering& l, LaneState& lane, std::size_t place, std::int32_t step, Ref updated) {
  if (updated.valid()) lane.last_compute = updated;
  Refs done;
  done.add(updated);
  const Refs gathered = l.writer->gather(lane, place, step, done);
  return gathered.empty() ? done : gathered;
}

/// On the device, or on its host, where the device has no part in it but to gather what comes back.
Refs update(Lowering& l, std::size_t lane, std::size_t place, int step, const Refs& after) {
  const auto version = static_cast<std::int16_t>(step + 1);
  LaneState& state = l.lanes[lane];
  if (l.workload.layout.host_optimizer)
    return gather(l, state, place, step, l.host.update(place, step, after, version));
  const Ref updated =
      l.draft.add(state.stream, update_task(l, {place, 0, false}), step, after, 0, version);
  state.tail = {};
  return gather(l, state, place, step, updated);
}

TaskId copies_task(Lowering& l, StageId stage, Bytes bytes) {
  Task task;
  task.kind = TaskKind::Collective;
  task.phase = Phase::Backward;
  task.stage = stage;
  task.name = l.draft.name("copies all-reduce");
  task.pass = l.draft.name("update_weights");
  task.collective = CollectiveKind::AllReduce;
  task.group = Group::Copies;
  task.bytes = bytes;
  return l.draft.task(task);
}

/// The two copies of a stage add their gradients before either is updated. By place: what its
/// update waits for.
std::vector<Refs> reduce_copies(Lowering& l, int step) {
  std::vector<Refs> reduced(l.places.size());
  l.copies_tasks.resize(l.stages);
  for (std::uint32_t s = 0; s < l.stages; ++s) {
    const Bytes bytes = stage_state(l.workload, StageId{s}).total.gradients;
    if (bytes.value == 0) continue;
    if (!l.copies_tasks[s].valid()) l.copies_tasks[s] = copies_task(l, StageId{s}, bytes);
    Ref ends[2];
    for (int copy = 0; copy < 2; ++copy) {
      const std::size_t place = l.places.index(StageId{s}, copy);
      const std::size_t lane = l.first_lane(l.places[place].device);
      ends[copy] =
          l.draft.add(l.lanes[lane].to.reduce, l.copies_tasks[s], step, l.reduced[lane][place]);
      reduced[place].add(ends[copy]);
    }
    l.draft.pair(ends[0], ends[1]);
  }
  return reduced;
}

}  // namespace

void update_in_lane(Lowering& l, std::size_t lane, const Action& a, int grows) {
  LaneState& state = l.lanes[lane];
  const std::size_t place = l.places.of(a.stage, l.order.lanes[lane].device);
  Refs after = l.reduced[lane][place];
  after.add(state.tail);
  // Ranks still read what the update before wrote, as long as they gather it.
  if (l.workload.layout.optimizer_shards > 1) after.add(l.arrived[lane][place]);
  const bool averages = wave_average(l.workload.scenario.plan).follows(a.weights);
  const Ref updated = l.draft.add(state.stream, update_task(l, {place, grows, averages}),
                                  a.microbatch, after, a.wave, a.weights);
  state.tail = {};
  l.updates.push_back({a.stage.value, a.microbatch, a.weights, lane, updated});
  l.arrived[lane][place] = gather(l, state, place, a.microbatch, updated);
}

void update_after_step(Lowering& l, int step) {
  std::vector<Refs> copies(l.places.size());
  if (l.places.copied()) copies = reduce_copies(l, step);
  // A stage without backward begins its next step when the first stage that has one has ended its
  // own, as it would if gradients were sent to it.
  const auto trained =
      static_cast<std::uint32_t>(forward_only_stages(l.workload.scenario.model, l.workload.table));
  Refs trained_ends;
  for (std::size_t place = 0; trained > 0 && place < l.places.size(); ++place)
    if (l.places[place].stage.value == trained)
      for (const std::vector<Refs>& lane : l.reduced) trained_ends.add(lane[place]);
  for (std::size_t place = 0; place < l.places.size(); ++place) {
    const DeviceId device = l.places[place].device;
    const std::size_t first = l.first_lane(device);
    const auto each_lane = [&](auto visit) {
      for (std::size_t i = first; i < l.lanes.size(); ++i)
        if (l.order.lanes[i].device == device) visit(i);
    };
    if (first == l.lanes.size()) continue;
    Refs after = copies[place];
    if (l.places[place].stage.value < trained) after.add(trained_ends);
    each_lane([&](std::size_t i) { after.add(l.reduced[i][place]), after.add(l.lanes[i].tail); });
    const Refs arrived = update(l, first, place, step, after);
    each_lane([&](std::size_t i) { l.arrived[i][place] = arrived; });
  }
}

}  // namespace trainyard
