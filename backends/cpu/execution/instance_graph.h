// The InstanceGraph says what of an execution waits for what, so that drivers only count down: the
// instruction before it in its stream, those in its `after`, and gates.
//
// A gate is what updates that must begin together wait for: all that any of the step's updates
// needs and that does not itself wait for one of them, on all devices and peers. Parameters that
// are gathered after an update and before the next thus hold nobody up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/execution/execution.h"

namespace trainyard {

/// Nodes are instructions, by id, then gates. An instruction waits and is waited for on its own
/// peer; a gate by all peers. Heads of streams wait for one thing more: that their stream may
/// begin. The execution must outlive it.
class InstanceGraph {
 public:
  explicit InstanceGraph(const Execution&);

  std::uint32_t instructions() const { return instructions_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(waits_.size()); }
  bool is_gate(std::uint32_t node) const { return node >= instructions_; }
  /// How much a node waits for: an instruction on each peer; a gate, counted over all peers.
  std::uint32_t waits(std::uint32_t node) const { return waits_[node]; }
  /// Who waits for it; an instruction's stream first.
  std::span<const std::uint32_t> successors(std::uint32_t node) const {
    return {successors_.data() + first_[node], first_[node + 1] - first_[node]};
  }
  DeviceId device(std::uint32_t instruction) const { return device_[instruction]; }

 private:
  struct Edge {
    std::uint32_t from, to;
  };
  std::vector<Edge> waits_of_instructions() const;
  void add_gates(std::vector<Edge>&, int peers);
  void link(const std::vector<Edge>&);

  const Program& program_;
  std::uint32_t instructions_;
  std::vector<std::uint32_t> waits_, first_, successors_;
  std::vector<DeviceId> device_;
};

/// Of two ends that run together, the one that stands for both: the send, of a pair of copies the
/// lower one; without a peer, the instruction itself.
InstructionId leader_of(const Program&, InstructionId);

}  // namespace trainyard
