// This file computes what each device's process holds beside the tensors of a workload's layers,
// and what its allocator reserves for both. The closed form and programs use the same functions.
#pragma once

#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/process_memory.h"
#include "core/lowering/lower.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Returns by device: the context and, where the process says so, the copies of logits that a loss
/// in eager operators makes and the gathered blocks of a layer that is recomputed under sequence
/// parallel. The last two count only beyond what the layers' own memory includes.
std::vector<Bytes> process_bytes(const Workload&, const ProcessMemory&);

/// Returns what each device's process holds, by pipeline rank: the cost model's process of its own
/// kind of device.
std::vector<ProcessMemory> processes(const Workload&, const CostModel&);
/// The same as process_bytes() of each device's own process.
std::vector<Bytes> process_bytes(const Workload&, const std::vector<ProcessMemory>&);

/// Returns the part of them that a layer of that body adds: copies of logits and gathered blocks.
Bytes further_bytes(const Workload&, const Body&, const ProcessMemory&);
/// Returns the part of them that is the buckets of a stage with that many parameters (on one
/// device), and what arrives of other ranks while the updates of its largest layer are combined or
/// its compressed gradients are exchanged.
Bytes bucket_bytes(const Workload&, std::int64_t parameters, std::int64_t largest_layer);

/// Returns what process and allocator reserve for such a peak, never less than it. What lives as
/// long as the run (weights, optimizer state, gradients) is allocated once and does not fragment.
Bytes reserved_bytes(const CategoryBytes& peak, const ProcessMemory&);

/// Returns the factor on the time of a step whose fullest device has that much of its memory
/// reserved: the allocator of a nearly full device returns memory and asks for it again. The factor
/// is >= 1 and does not grow beyond that of a full device.
double memory_slowdown(Bytes most_reserved, Bytes capacity, const ProcessMemory&);

/// Returns the memory of each device, by pipeline rank.
std::vector<Bytes> capacities(const Workload&);
/// Returns the pipeline rank of the device that has the least room beside what it reserves.
std::size_t least_room(const Workload&, const std::vector<Bytes>& reserved);

}  // namespace trainyard
