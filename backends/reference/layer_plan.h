// A LayerPlan is what executing one kind of layer needs to know beside its ops: what is kept when,
// which nodes are mere views, and which instruction of a phase is its last.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/lowering/lower.h"

namespace trainyard {

struct LayerPlan {
  const Graph* graph = nullptr;
  int block = 0;

  enum class Keep : std::uint8_t { Never, UntilInput, UntilWeight };
  std::vector<Keep> tensors;  // by tensor: how long after its forward it is there
  std::vector<Keep> rebuilt;  // the same, of what backward computes again
  struct Fact {
    std::string_view what;
    Keep keep = Keep::Never, rebuilt = Keep::Never;
  };
  std::vector<std::vector<Fact>> facts;  // by node

  std::vector<bool> view;              // by node: computes nothing, so no instruction runs it
  std::vector<bool> gives_gradient;    // by node: to its inputs, when its backward runs
  std::vector<std::int32_t> producer;  // by tensor: node, or -1
  std::vector<std::vector<std::uint32_t>> view_users;  // by tensor: views that read it
  std::vector<int> gradient_parts;  // by tensor: gradients that reach it from within the layer

  // The nodes whose computation ends forward, and each part of backward; invalid = no such part.
  NodeId last_forward, last_input, last_weight;
  /// Returns whether it has a backward: below all trained weights there is none.
  bool has_backward() const { return last_input.valid() || last_weight.valid(); }
};

/// The workload must outlive it.
LayerPlan layer_plan(const Workload&, const Body&);

}  // namespace trainyard
