// What each device's process holds beside the tensors that a workload's layers own, and what its
// allocator has reserved for both: the same for the closed form and for programs.
#pragma once

#include <vector>

#include "core/cost/process_memory.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// By device: the context, and where the process says so the copies of logits that a loss in eager
/// operators makes (beyond those that the ledger holds) and the gathered blocks of a layer that is
/// recomputed under sequence parallel (beyond the ledger's).
std::vector<Bytes> process_bytes(const Workload&, const ProcessMemory&);

/// Of a peak of which `framework` bytes are the process's own; never less than the peak.
Bytes reserved_bytes(Bytes peak, Bytes framework, const ProcessMemory&);

}  // namespace trainyard
