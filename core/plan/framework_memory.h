// FrameworkMemory is the memory that a framework uses beyond what the methods need, per parameter
// and per microbatch, in bytes that the framework documents or its source shows. A plan that names
// no framework adds none of it.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard {

struct FrameworkMemory {
  std::string_view framework;
  /// Bytes per parameter beside weights, gradients and optimizer state: gradients of one microbatch
  /// in 2 bytes before they are added up in 4 (nanotron).
  int gradient_bytes = 0;
  /// Bytes per parameter that are divided like the optimizer state: the rank's part of the
  /// gradients, flattened in 2 bytes and copied to 4 for the update (DeepSpeed: 18 / d where others
  /// have 12 / d).
  int gradient_part_bytes = 0;
  /// Says whether sharded weights are the 4-byte master copy itself, so that 16-bit weights exist
  /// only while gathered (FSDP: 16 / d).
  bool shards_are_master = false;
  /// Number of layers whose gathered weights stay in memory beside the running layer and the
  /// prefetched one.
  int gathered_layers = 0;
  /// Says whether column-parallel products keep their gathered inputs for backward, which saves the
  /// second gather.
  bool keeps_gathered_inputs = false;
  /// Tensors of the size of its output that a pipeline stage keeps for each microbatch in flight,
  /// beside what its layers keep (DeepSpeed's pipe buffers hold the output until its gradient
  /// arrives).
  int stage_tensors = 0;
  /// Says whether what flows between layers is in 4 bytes where products compute in 2. Autocast
  /// casts for each product, so embeddings, sums and the inputs of norms keep the format of the
  /// weights. A compiler that fuses the chain keeps less than this.
  bool wide_between_layers = false;
  /// Largest total number of parameters in the flat buffers in which gradients are reduced and
  /// weights gathered (reduce_bucket_size, allgather_bucket_size).
  std::int64_t bucket_parameters = 0;
};

/// Takes a name of frameworks(). For "" and for frameworks without an entry the result adds
/// nothing.
const FrameworkMemory& framework_memory(std::string_view framework);

}  // namespace trainyard
