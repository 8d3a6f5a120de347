// Shapes of schedules: one stage per device, two pipelines in opposite directions, and a V with the
// times of one of its two chunks.
#pragma once

#include "core/program/order.h"

namespace trainyard::testing {

inline ScheduleShape plain_shape(int p, int m) {
  return {.devices = p, .stages = p, .microbatches = m};
}

inline ScheduleShape both_ways(int p, int m) {
  return {.devices = p,
          .stages = p,
          .microbatches = m,
          .steps = 1,
          .times = {},
          .placement = Placement::Bidirectional};
}

inline ScheduleShape v_shape(int p, int m, const PhaseTimes& whole = {}) {
  return {.devices = p,
          .stages = 2 * p,
          .microbatches = m,
          .steps = 1,
          .times = whole,
          .placement = Placement::V};
}

/// A chunk has half of a device's layers.
inline PhaseTimes chunk(const PhaseTimes& whole) {
  return {whole.forward / 2, whole.backward_input / 2, whole.backward_weight / 2};
}

/// Returns whether each lane has the stages that the placement gives its device.
inline bool on_their_devices(const Order& order, const ScheduleShape& shape) {
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions)
      if (device_of(a.stage, shape.devices, shape.stages, shape.placement, a.wave) != lane.device)
        return false;
  return true;
}

}  // namespace trainyard::testing
