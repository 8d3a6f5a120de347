// Lowering turns a scenario into the Program that devices run, by a flat list of steps (lower.cpp),
// at one of two grains.
#pragma once

#include <vector>

#include "core/base/stop.h"
#include "core/lowering/workload.h"
#include "core/methods/memory/layer_policy.h"
#include "core/program/program.h"

namespace trainyard {

/// All that is wrong with a scenario: structure, each method's check, pairs that do not go
/// together. The plan need not be complete. No error means that lower() will not throw.
Diagnostics check(const Scenario&);

/// Throws Error{InvalidInput} listing all that check() finds wrong.
Workload prepare(const Scenario&);
/// The same without a copy and without a throw: `found` is what check() finds, and with an error
/// among it the workload holds the scenario only.
Workload prepare(Scenario&&, Diagnostics& found);
/// The body of a block's layers in that workload under another policy of recomputation; of a block
/// that is no layer, its own.
Body layer_body(const Workload&, int block, const LayerPolicy&);

struct LowerOptions {
  Grain grain = Grain::Order;
  int steps = 0;  // exactly so many; 0: see schedule_shape()
  bool verify = true;
  PhaseTimes times{};                 // for schedules that need them
  std::vector<Bytes> framework = {};  // held beside tensors, by device (process_bytes()); empty =
                                      // the device's context
  Stop stop = {};
};
/// Throws Error{InvalidInput} as prepare() does, and Error{Cancelled} when stopped.
Program lower(const Workload&, const LowerOptions& = {});
Program lower(const Scenario&, const LowerOptions& = {});
/// Follows this order instead of the schedule's own. It must be one that check() accepts for the
/// schedule's shape with that many steps.
Program lower(const Workload&, const Order&, int steps, const LowerOptions& = {});

}  // namespace trainyard
