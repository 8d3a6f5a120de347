// This file makes prices of what a recording shows of a run: what each kernel and each collective
// took of the plan that was run, so that they price other plans on the same devices.
#pragma once

#include <string>
#include <vector>

#include "core/cost/calibrated.h"
#include "core/lowering/lower.h"
#include "core/memory/memory_snapshot.h"
#include "core/timeline/recorded_trace.h"
#include "core/validation/recorded/recorded_overlap.h"

namespace trainyard {

/// TracedWork is one kind of work of a step on one device.
struct TracedWork {
  std::string work;        // "matmul backward", "optimizer", "all-reduce of 2"
  Duration measured{};     // recorded, the median step
  Duration predicted{};    // by the model without the recording
  std::int64_t calls = 0;  // of the plan
  bool by_shape = false;   // each shape has the time that was recorded of it; else they share one
                           // factor
  double factor() const { return to_seconds(measured) / to_seconds(predicted); }
};

struct TracePrices {
  Calibration calibration;
  std::vector<TracedWork> works;    // most time first
  std::vector<std::string> unseen;  // sentences: what keeps the price of the model, and why
  std::vector<std::string> notes;   // sentences: what else is in a price
  std::vector<RecordedOverlap> overlaps;
  Duration step{};         // recorded, the median
  std::int64_t steps = 0;  // of all processes, that were used
};

/// The trace is a run of the workload's plan: of one rank, of all of them, or of some. `base`
/// prices it without the recording.
///
/// A recording that Trainyard wrote is followed instruction by instruction. Another one is matched
/// by op and part of the step: where it shows as many pieces as the plan has, each piece is its
/// instruction's; else all shapes of the op share the factor by which their sum is off. Work of no
/// known name is spread over element-wise work, or, where nothing of a part of the step has a known
/// name, over all of it; on a host the gaps, and operators that the plan does not have, over all
/// kernels.
///
/// Where the profiler states kind, size and group of collectives, their times are of those
/// (core/validation/recorded/recorded_exchanges.h), and else of the plan's.
///
/// `memory` is a snapshot of the same run's allocator, which says what is reserved over what is
/// allocated at the peak; null: counters of the recording say it, where there are any.
///
/// Throws Error{InvalidInput} where nothing in the recording is work of the plan.
TracePrices prices_of_trace(const RecordedTrace&, const Workload&, const CostModel& base,
                            const MemorySnapshot* memory = nullptr);

}  // namespace trainyard
