// Lowering turns a scenario into the Program that devices run, by a flat list of steps (lower.cpp),
// at one of two grains.
#pragma once

#include <functional>
#include <vector>

#include "core/base/stop.h"
#include "core/lowering/layer_strategies.h"
#include "core/lowering/workload.h"
#include "core/methods/memory/layer_policy.h"
#include "core/program/program.h"

namespace trainyard {

/// All errors of a scenario: in its structure, from each method's check, and from pairs of methods
/// that exclude each other. The plan need not be complete. If there is no error, lower() does not
/// throw.
Diagnostics check(const Scenario&);

/// Throws Error{InvalidInput} that lists everything check() finds.
Workload prepare(const Scenario&);
/// The same without a copy and without throwing: `found` receives what check() finds, and if that
/// includes an error, the workload holds only the scenario.
Workload prepare(Scenario&&, Diagnostics& found);
/// The body of a block's layers in that workload under another recomputation policy and strategy;
/// for a block that is no layer, its unchanged body.
Body layer_body(const Workload&, int block, const LayerPolicy&, const LayerStrategy& = {});

/// The grain at which lower() writes a workload that is asked for at the other: activations that
/// leave layer by layer have phases written operator by operator, because forwards and backwards
/// wait for copies between their layers.
Grain written_grain(const Workload&, Grain asked);

struct LowerOptions {
  Grain grain = Grain::Order;
  int steps = 0;  // the exact number; 0: see schedule_shape()
  bool verify = true;
  PhaseTimes times{};  // for schedules that depend on times
  // The predicted time of each task of the program, where lanes share a device (hold_phase()) or
  // activations come back layer by layer (layer_copies.h). Without it every computation is taken to
  // last as long as every other. The program that it is given may have no instructions yet.
  std::function<std::vector<Duration>(const Program&)> price = {};
  // Memory beyond tensors by device (process_bytes()); empty = the device's context.
  std::vector<Bytes> framework = {};
  Stop stop = {};
};
/// Throws Error{InvalidInput} as prepare() does, and Error{Cancelled} when stopped.
Program lower(const Workload&, const LowerOptions& = {});
Program lower(const Scenario&, const LowerOptions& = {});
/// Follows this order instead of the schedule's own. It must be one that check() accepts for the
/// schedule's shape with that many steps.
Program lower(const Workload&, const Order&, int steps, const LowerOptions& = {});

}  // namespace trainyard
