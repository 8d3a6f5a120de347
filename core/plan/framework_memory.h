// What each framework holds a parameter and a microbatch beside what the method asks for: byte
// counts that it documents, or that its source shows. A plan that names no framework holds none of
// it.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard {

struct FrameworkMemory {
  std::string_view framework;
  /// Bytes a parameter beside weights, gradients and optimizer state: gradients of one microbatch
  /// in 2 bytes before they are added up in 4 (nanotron).
  int gradient_bytes = 0;
  /// The same, divided as the optimizer state is: the rank's part of the gradients, flattened in 2
  /// bytes and copied to 4 for the update (DeepSpeed: 18 / d where others have 12 / d).
  int gradient_part_bytes = 0;
  /// Divided weights are the master copy in 4 bytes itself; 16-bit weights exist only gathered
  /// (FSDP: 16 / d).
  bool shards_are_master = false;
  /// Layers whose gathered weights are there beside the one that runs and the one prefetched.
  int gathered_layers = 0;
  /// Column-parallel products keep their gathered inputs for backward (no second gather).
  bool keeps_gathered_inputs = false;
  /// Tensors as large as its output that a pipeline stage keeps for each microbatch in flight,
  /// beside what its layers keep (DeepSpeed's pipe buffers hold the output until its gradient is
  /// there).
  int stage_tensors = 0;
  /// Most parameters of the flat buffers in which gradients are reduced and weights gathered, all
  /// together (reduce_bucket_size, allgather_bucket_size).
  std::int64_t bucket_parameters = 0;
};

/// Of a name of frameworks(); "" and frameworks without an entry give one that holds nothing.
const FrameworkMemory& framework_memory(std::string_view framework);

}  // namespace trainyard
