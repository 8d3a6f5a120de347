// What everybody asks of a model that was read: nothing of it may go wrong, whatever the sizes.
#pragma once

#include <cstdlib>

#include "core/model/model.h"
#include "core/model/op.h"

namespace trainyard {

inline void ask_everything(const Model& model) {
  if (parameters(model) < 0 || active_parameters(model) > parameters(model)) std::abort();
  const Precision precision{DType::BF16, DType::BF16, DType::F32, DType::BF16, true};
  const Binding binding{3, 100, 2, 2, 2, true};
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      for (bool flash : {false, true}) {
        const LocalNode local{block.graph, node, binding, precision, flash};
        for (Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight})
          if (!(node.op->work(local, pass).flops.value >= 0)) std::abort();
        for (const Saved& saved : node.op->saved(local))
          if (saved.bytes.value < 0) std::abort();
      }
}

}  // namespace trainyard
