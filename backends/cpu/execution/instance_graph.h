// The InstanceGraph lists the dependencies of an execution, so that drivers only count down: an
// instruction waits for the one before it in its stream, for those in its `after`, and for gates.
//
// A gate stands for everything that a set of updates that must begin together waits for: whatever
// any of the step's updates needs and that does not itself wait for one of them, on all devices and
// peers. Gathers of parameters between an update and the next therefore delay no other update.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/execution/execution.h"

namespace trainyard {

/// The nodes are the instructions, by id, followed by the gates. An instruction depends on nodes of
/// its own peer; a gate depends on all peers. The head of a stream waits for one thing more, the
/// start of the stream, and attention for each collective whose reader it is. The execution must
/// outlive the graph.
class InstanceGraph {
 public:
  explicit InstanceGraph(const Execution&);

  std::uint32_t instructions() const { return instructions_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(waits_.size()); }
  bool is_gate(std::uint32_t node) const { return node >= instructions_; }
  /// The number of things that a node waits for: per peer for an instruction, summed over all peers
  /// for a gate.
  std::uint32_t waits(std::uint32_t node) const { return waits_[node]; }
  /// The nodes that wait for this one; for an instruction, the next in its stream comes first.
  std::span<const std::uint32_t> successors(std::uint32_t node) const {
    return {successors_.data() + first_[node], first_[node + 1] - first_[node]};
  }
  DeviceId device(std::uint32_t instruction) const { return device_[instruction]; }

  /// Context ranks pass keys and values round beside the attention that reads them, and their
  /// gradients beside the one that makes them. What links the two is no wait for an end: attention
  /// begins once the first collective has moved its data, which is when it begins, and the second
  /// moves its data once attention has ended on all its members, which is before it ends.
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// The attention that reads what the collective passes, or kNone.
  std::uint32_t reader(std::uint32_t instruction) const { return reader_[instruction]; }
  /// The collective that passes the gradients which the attention makes, or kNone.
  std::uint32_t taker(std::uint32_t instruction) const { return taker_[instruction]; }
  /// Returns whether it is such a collective, which moves its data at its end.
  bool takes_late(std::uint32_t instruction) const { return takes_late_[instruction]; }

 private:
  struct Edge {
    std::uint32_t from, to;
  };
  std::vector<Edge> waits_of_instructions() const;
  void add_gates(std::vector<Edge>&, int peers);
  void find_rings();
  void link(const std::vector<Edge>&);

  const Program& program_;
  std::uint32_t instructions_;
  std::vector<std::uint32_t> waits_, first_, successors_, reader_, taker_;
  std::vector<bool> takes_late_;
  std::vector<DeviceId> device_;
};

/// The end that represents two ends that run together: the send, or the lower of a pair of copies.
/// Without a peer it is the instruction itself.
InstructionId leader_of(const Program&, InstructionId);

}  // namespace trainyard
