// The degrees of parallelism of a plan, and the kinds of groups in which its ranks communicate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// Degrees of parallelism. Devices = tp * cp * dp * pp; experts are spread over ep ranks taken from
/// inside cp * dp, and from inside tp * cp * dp where each expert is whole on one rank (etp = 1).
struct Mesh {
  int tp = 1, cp = 1, ep = 1;
  std::optional<int> dp;  // empty = the rest of the devices
  int pp = 1;
  std::string order = "tp-cp-ep-dp-pp";  // fastest first: which ranks sit next to each other
  std::optional<int> etp = {};  // tensor ranks over which an expert is cut: tp or 1; empty = tp
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

enum class Group : std::uint8_t {
  Tensor,      // tp ranks
  Context,     // cp ranks
  Expert,      // ep ranks, inside those of expert_pool()
  Data,        // replicas of dense parameters: dp x cp
  ExpertData,  // replicas of expert parameters: expert_pool() / ep
  Shard,       // hybrid sharding: the ranks among which state is divided (inside Data)
  Replica,     // hybrid sharding: ranks that hold the same shard (Data / Shard)
  Pipeline,    // neighbouring stages: a pair
  Copies,      // the two copies of a stage under a bidirectional placement: a pair
};
std::string_view to_string(Group);  // "tensor", "data" ...

}  // namespace trainyard
