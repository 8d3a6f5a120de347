// A collective as messages between its members, round after round. Rounds in which the same members
// send as much to the same others follow each other without a pause, so that they are one phase: a
// ring of p members is one phase in which each sends (p - 1) / p of the bytes, not p - 1 rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cluster/collective.h"
#include "core/cost/collectives/collective_algorithm.h"
#include "core/cost/collectives/collective_hops.h"

namespace trainyard {

/// A Message goes from one member to another, or to or from the switch that adds up.
struct Message {
  static constexpr std::int64_t kSwitch = -1;
  std::int64_t from = 0, to = 0;
  double share = 0;  // of the collective's bytes, as CostModel::collective() counts them
  friend bool operator==(const Message&, const Message&) = default;
};
struct MessagePhase {
  int rounds = 1;  // messages after each other on the way of the last byte: their latencies add up
  std::vector<Message> messages;
};

/// The rounds of a list of messages, merged.
std::vector<MessagePhase> hop_phases(const CollectiveHops&, std::int64_t elements);

/// Members say where ranks lie: `per_node` that follow each other share a node.
struct Members {
  std::int64_t ranks = 2, per_node = 2;  // both >= 1; per_node divides ranks, or is above them
};
/// Returns the phases of a collective by an algorithm, as the cost models price it: rings through
/// several nodes are as many as members in a node, and each leaves the node at another member;
/// trees are the two pipelined ones of Sanders, Speck and Traeff 2009, with chains inside nodes.
/// Algorithms that do not fit the ranks are carried out in a ring. Members of an all-to-all of more
/// than 64 exchange in 64 of their p - 1 shifts, evenly chosen, what they would in all.
std::vector<MessagePhase> collective_phases(CollectiveKind, CollectiveAlgorithm, const Members&);

}  // namespace trainyard
