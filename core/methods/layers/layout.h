// A Layout is what a plan's methods decide about one device before any op is written: how tensors
// are divided, which formats they have, and into how many parts the training state is divided.
#pragma once

#include <cstdint>

#include "core/model/graph.h"
#include "core/plan/framework_memory.h"
#include "core/plan/plan.h"

namespace trainyard {

struct Layout {
  Binding binding;
  Precision precision;
  bool flash_attention = true;
  int optimizer_bytes = 8;           // bytes of moments per parameter
  int optimizer_touched_bytes = 26;  // bytes read and written per parameter by one update
  std::int64_t shard_group = 0;  // hybrid sharding: number of ranks that divide the state; 0 = all
                                 // replicas
  // ZeRO: number of parts of each kind of state of dense parameters, 1 = replicated. Experts are
  // divided over their own replicas.
  std::int64_t weight_shards = 1, gradient_shards = 1, optimizer_shards = 1;
  std::int64_t expert_weight_shards = 1, expert_gradient_shards = 1, expert_optimizer_shards = 1;
  bool host_optimizer = false;    // the host holds the optimizer state and updates the weights
  bool nvme_optimizer = false;    // that state is on NVMe and passes through buffers of the host
  bool host_activations = false;  // what forward keeps is stored on the host until its backward
  bool blocking_sends = false;    // a stage's computation waits until its message has been sent
  // Activations leave for the host layer by layer, so many at once, and come back so; 0 = they
  // leave by whole stages, or stay.
  std::uint8_t layers_in_flight = 0;
  std::int64_t send_parts = 1;  // number of parts of a message, each sent by one rank of the tensor
                                // group
  FrameworkMemory framework{};  // memory that the plan's framework uses beside
  bool tied_copies = false;  // tied tensors are on different stages, and each stage holds its own
                             // copy
  /// The tensor ranks do not divide this layer's weights: they divide its sequence, and exchange
  /// heads for tokens around attention. The binding's cp is then their number.
  bool tensor_heads = false;
  bool reduce_every_microbatch = false;  // gradients are scattered after every microbatch (ZeRO 2
                                         // and 3)
  // The elements of a layer's optimizer state that a rank holds are rounded up to a multiple of it,
  // those of dense and of expert parameters each.
  std::int64_t optimizer_multiple = 1;
};

}  // namespace trainyard
