// SequenceLength is the sequence that methods divide: how many tokens a sample has, and whether the
// workload sets that number.
#pragma once

#include <algorithm>

#include "core/model/ops.h"
#include "core/plan/plan.h"

namespace trainyard {

struct SequenceLength {
  std::int64_t tokens = 1;  // 1 = the model has no sequence
  bool open = false;  // the setting `seq` sets it; else it is fixed, as an image's tokens follow
                      // from its patches
};

inline SequenceLength sequence_length(const Scenario& scenario) {
  const Model& model = scenario.model;
  const auto is_open = [](const Dim& d) {
    return d.size == 0 && (d.axis == Axis::Sequence || d.axis == Axis::SequenceRegion);
  };
  for (const Block& block : model.blocks)
    for (const Tensor& tensor : block.graph.tensors)
      if (std::any_of(tensor.shape.begin(), tensor.shape.end(), is_open))
        return {scenario.plan.batch.sequence, true};
  return {model.sequence, false};
}

/// Returns whether a layer reads its sequence step by step (lstm), so that the sequence cannot be
/// divided.
inline bool is_recurrent(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &lstm()) return true;
  return false;
}

}  // namespace trainyard
