// A Layout is what the methods of a plan have settled about one device before any op is written
// down: how tensors are divided, which formats they have, and into how many parts the training
// state falls.
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
  int optimizer_bytes = 8;           // moments a parameter
  int optimizer_touched_bytes = 26;  // moved by one update, a parameter
  std::int64_t shard_group = 0;  // hybrid sharding: ranks that divide the state; 0 = all replicas
  // ZeRO: parts of each kind of state of dense parameters, 1 = replicated; experts divide by their
  // own replicas.
  std::int64_t weight_shards = 1, gradient_shards = 1, optimizer_shards = 1;
  std::int64_t expert_weight_shards = 1, expert_gradient_shards = 1, expert_optimizer_shards = 1;
  bool host_optimizer = false;    // optimizer state lives with the host, which updates the weights
  bool host_activations = false;  // what forward keeps waits with the host for its backward
  bool blocking_sends = false;    // a stage's computation waits until its message has left
  std::int64_t send_parts = 1;    // parts of a message, each sent by a rank of the tensor group
  FrameworkMemory framework{};    // what the plan's framework holds beside
  bool tied_copies = false;       // tied tensors sit on another stage: each end holds its own
  bool reduce_every_microbatch = false;  // gradients leave the device with every microbatch (ZeRO 2
                                         // and 3)
};

}  // namespace trainyard
