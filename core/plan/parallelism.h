// This file defines a plan's degrees of parallelism and the kinds of groups in which its ranks
// communicate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// A Mesh holds the degrees of parallelism. The number of devices is tp * cp * dp * pp. Experts are
/// spread over ep ranks taken from inside cp * dp, or from inside tp * cp * dp where each expert is
/// whole on one rank (etp = 1).
struct Mesh {
  int tp = 1, cp = 1, ep = 1;
  std::optional<int> dp;  // empty = as many as the devices allow
  int pp = 1;
  std::string order = "tp-cp-ep-dp-pp";  // which ranks sit next to each other, fastest first
  std::optional<int> etp = {};  // tensor ranks among which an expert is divided: tp or 1; empty =
                                // tp
  int ulysses = 1;  // neighbouring cp ranks that exchange heads for tokens; a ring has the other
                    // direction of cp. complete() derives it from the context-parallel choice
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

enum class Group : std::uint8_t {
  Tensor,        // tp ranks
  Context,       // cp ranks
  ContextHeads,  // cp ranks that exchange heads for tokens (Mesh::ulysses)
  ContextRing,   // cp ranks of one ring: one of each group that exchanges heads
  TensorHeads,   // tp ranks that exchange heads for tokens, in layers whose weights they all have
  Expert,        // ep ranks, inside those of expert_pool()
  Data,          // replicas of dense parameters: dp x cp
  ExpertData,    // replicas of expert parameters: expert_pool() / ep
  Shard,         // hybrid sharding: the ranks among which state is divided (inside Data)
  Replica,       // hybrid sharding: ranks that hold the same shard (Data / Shard)
  Pipeline,      // two neighbouring stages
  Copies,        // the two copies of a stage under a bidirectional placement
};
std::string_view to_string(Group);  // "tensor", "data" ...
/// Returns whether the ranks of the group divide a sequence.
inline bool is_context(Group group) {
  return group == Group::Context || group == Group::ContextHeads || group == Group::ContextRing ||
         group == Group::TensorHeads;
}

}  // namespace trainyard
