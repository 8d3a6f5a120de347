// Says what a schedule means for sums: whether it is synchronous, and in which order it sums
// gradients.
#pragma once

#include <map>

#include "core/methods/catalogue.h"
#include "core/program/program.h"

namespace trainyard::testing {

// Returns whether each stage sums its microbatches' gradients in their own order, as one device
// does.
inline bool adds_in_order(const Program& p) {
  if (copies(p.placement) > 1) return false;
  std::map<std::uint32_t, std::int32_t> last;
  for (const Stream& stream : p.streams)
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Task& task = p.task(InstructionId{i});
      if (task.kind != TaskKind::Compute || task.phase == Phase::Update) continue;
      if (p.works[task.first_work].pass != Pass::BackwardWeight) continue;
      const auto [entry, is_new] = last.try_emplace(task.stage.value, -1);
      if (p.instructions[i].microbatch < entry->second) return false;
      entry->second = p.instructions[i].microbatch;
    }
  return true;
}

inline bool synchronous(const Method& m) {
  if (m.axis != MethodAxis::Schedule) return false;
  const ScheduleShape shape{.devices = 2, .stages = 2, .microbatches = 4};
  return !m.settles || !has_updates(m.order(shape, with_defaults({}, m.params)));
}

}  // namespace trainyard::testing
