#include <algorithm>
#include <string>

#include "core/lowering/lane_facts.h"
#include "core/lowering/lowering.h"
#include "core/lowering/phases.h"

namespace trainyard {
namespace {

BufferId hold(Lowering& l, const StageCopy& place, Category category, std::string_view name,
              Bytes bytes, Provenance provenance, Holds holds, int item = 0) {
  Buffer buffer;
  buffer.name = l.draft.name(name);
  buffer.stage = place.stage;
  buffer.device = place.device;
  buffer.category = category;
  buffer.provenance = provenance;
  buffer.persistent = true;
  buffer.bytes = bytes;
  buffer.holds = holds;
  if (holds != Holds::Other) buffer.item = item;
  return bytes.value > 0 ? l.draft.buffer(buffer) : BufferId{};
}

/// Says which block of the model has how much of the buffer.
void name_parts(Lowering& l, BufferId id, const StateByBlock& state, Bytes StateBytes::* kind) {
  if (!id.valid()) return;
  Program& program = l.draft.program;
  const auto first = static_cast<std::uint32_t>(program.parts.size());
  for (const auto& [block, bytes] : state.blocks)
    if ((bytes.*kind).value > 0)
      program.parts.push_back(
          {l.draft.name(l.workload.scenario.model.blocks[static_cast<std::size_t>(block)].name),
           bytes.*kind});
  program.buffers[id.value].first_part = first;
  program.buffers[id.value].parts = static_cast<std::uint32_t>(program.parts.size()) - first;
}

void hold_framework(Lowering& l, DeviceId device) {
  const auto place = std::find_if(l.places.begin(), l.places.end(),
                                  [&](const StageCopy& p) { return p.device == device; });
  const Bytes bytes = device.value < l.framework.size()
                          ? l.framework[device.value]
                          : l.workload.scenario.cluster.device.context.value;
  hold(l, *place, Category::Framework, "driver context and libraries", bytes, Provenance::Guessed,
       Holds::Other);
}

void hold_stage(Lowering& l, const StageCopy& place, const WaveState& waves) {
  const StateByBlock& state = stage_state(l.workload, place.stage);
  const auto sets = [&](Category category, std::string_view name, Bytes StateBytes::* kind,
                        Holds holds, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string which = i == 0 ? "" : ", wave " + std::to_string(i);
      name_parts(l,
                 hold(l, place, category, std::string(name) + which, state.total.*kind,
                      Provenance::Exact, holds, i),
                 state, kind);
    }
  };
  sets(Category::Weights, "weights", &StateBytes::weights, Holds::Weights, 1 + waves.replicas);
  for (int i = 0; i < waves.stashes; ++i) {
    const std::string age = i == 0 ? "one version" : std::to_string(i + 1) + " versions";
    name_parts(l,
               hold(l, place, Category::Weights, "weights, " + age + " older", state.total.weights,
                    Provenance::Exact, Holds::OlderWeights),
               state, &StateBytes::weights);
  }
  sets(Category::OptimizerState, "optimizer state", &StateBytes::optimizer, Holds::OptimizerState,
       1 + waves.replicas);
  sets(Category::Gradients, "gradients", &StateBytes::gradients, Holds::Gradients,
       1 + waves.gradients);
  name_parts(l,
             hold(l, place, Category::Communication, "gathered weights", state.total.gathered,
                  Provenance::Modelled, Holds::Gathered),
             state, &StateBytes::gathered);
}

}  // namespace

void hold_state(Lowering& l) {
  std::vector<WaveState> waves;  // by device
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(l.workload.scenario.plan.mesh.pp); ++d) {
    waves.push_back(wave_state(l.order, DeviceId{d}));
    hold_framework(l, DeviceId{d});
  }
  for (const StageCopy& place : l.places) hold_stage(l, place, waves[place.device.value]);
}

}  // namespace trainyard
