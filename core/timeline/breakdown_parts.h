// This file says to which part of a Breakdown an instruction's time belongs.
#pragma once

#include <cmath>

#include "core/program/program.h"
#include "core/timeline/breakdown.h"

namespace trainyard {

/// Returns the part for a send, a receive, a host copy or a collective.
inline Duration& transfer_part(Breakdown& b, const Task& task) {
  if (is_host(task.kind)) return b.host;
  if (task.kind != TaskKind::Collective) return b.pipeline;
  switch (task.group) {
    case Group::Tensor:
    case Group::TensorHeads:
      return b.tensor_parallel;
    case Group::Context:
    case Group::ContextHeads:
    case Group::ContextRing:
      return b.context_parallel;
    case Group::Expert:
      return b.expert_parallel;
    case Group::Pipeline:
      return b.pipeline;
    default:
      return b.data_parallel;
  }
}

/// again is the share of the time that is repeated forward, in [0, 1].
inline void add_compute(Breakdown& b, const Task& task, Duration time, double again) {
  if (task.phase == Phase::Forward) {
    b.forward += time;
  } else if (task.phase == Phase::Update) {
    b.optimizer += time;
  } else {
    const Duration recompute{std::llround(static_cast<double>(time.count()) * again)};
    b.recompute += recompute;
    b.backward += time - recompute;
  }
}

}  // namespace trainyard
