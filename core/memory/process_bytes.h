// What each device's process holds beside the tensors that a workload's layers own, and what its
// allocator has reserved for both: the same for the closed form and for programs.
#pragma once

#include <vector>

#include "core/cost/process_memory.h"
#include "core/lowering/lower.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// By device: the context, and where the process says so the copies of logits that a loss in eager
/// operators makes (beyond those that the ledger holds) and the gathered blocks of a layer that is
/// recomputed under sequence parallel (beyond the ledger's).
std::vector<Bytes> process_bytes(const Workload&, const ProcessMemory&);

/// Of them, what a layer of that body adds beyond the ledger: copies of logits, gathered blocks.
Bytes further_bytes(const Workload&, const Body&, const ProcessMemory&);
/// Of them, the buckets of a stage with so many parameters (of one device).
Bytes bucket_bytes(const Workload&, std::int64_t parameters);

/// By process and allocator for such a peak, never less than it. What lives as long as the run
/// (weights, optimizer state, gradients) is allocated once and loses nothing.
Bytes reserved_bytes(const CategoryBytes& peak, const ProcessMemory&);

/// Of a step whose fullest device has so much of its memory reserved: the allocator of a nearly
/// full one gives memory back and asks for it again. >= 1; no more than of a full one.
double memory_slowdown(Bytes most_reserved, Bytes capacity, const ProcessMemory&);

}  // namespace trainyard
