// A PricedChain holds the cost of each layer of a plan, and a SplitShape describes the pipeline
// over which the layers are split.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/placement.h"
#include "planners/partition/partition_problem.h"

namespace trainyard {

/// The layers of a plan, priced for one device of each stage. A block between two layers that is no
/// layer itself counts as part of the layer before it.
struct PricedChain {
  // With times by kind of devices of the cluster; without output, see SplitShape::transfer.
  std::vector<ChainLayer> kinds;
  std::vector<std::uint32_t> layers;  // indices into kinds
  // Says whether the first entry is the block ahead of all layers (the embedding), and the last
  // entry the block behind them (the head).
  bool ahead = false, behind = false;
};

struct SplitShape {
  int devices = 1, virtual_stages = 1;
  Placement placement = Placement::Cyclic;
  int microbatches = 1;
  Duration transfer{};  // of one message between two stages
  bool blocking_sends = false;
  std::vector<int> live = {};  // as PartitionProblem::live, by virtual stage
  // The memory of each device for its layers; empty = no limit. It is read only if each device has
  // one stage.
  std::vector<Bytes> memory = {};
  // The kind of each device, as times of ChainLayer are listed; empty = all are equal.
  std::vector<int> classes = {};
  int class_of(std::size_t device) const { return classes.empty() ? 0 : classes[device]; }
};

}  // namespace trainyard
