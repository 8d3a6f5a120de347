// This file computes what parts of a model hold and compute, directly from their ops.
#include <set>

#include "core/model/fields.h"
#include "core/model/open_sizes.h"

namespace trainyard {
namespace {

// Returns the bytes that a node keeps and that no earlier node of the block keeps already.
Bytes saved_by(const LocalNode& local, std::set<std::uint32_t>& kept) {
  Bytes total{};
  for (const Saved& saved : local.node.op->saved(local)) {
    if (!saved.tensor.valid())
      total += saved.bytes;
    else if (kept.insert(saved.tensor.value).second)
      total += local.bytes(local.graph[saved.tensor]);
  }
  return total;
}

PartCost& operator+=(PartCost& sum, const PartCost& more) {
  sum.parameters += more.parameters;
  sum.forward += more.forward;
  sum.saved += more.saved;
  return sum;
}

}  // namespace

std::vector<PartCost> node_costs(const Graph& graph, const Binding& binding,
                                 const Precision& precision) {
  std::vector<PartCost> list;
  list.reserve(graph.nodes.size());
  const Binding priced = at_mean_width(binding);
  std::set<std::uint32_t> kept, counted;
  for (const Node& node : graph.nodes) {
    PartCost& own = list.emplace_back();
    own.saved = saved_by({graph, node, binding, precision}, kept);
    own.forward = node.op->work({graph, node, priced, precision}, Pass::Forward).flops;
    for (const TensorId id : node.inputs)
      if (const Tensor& tensor = graph[id]; tensor.kind == TensorKind::Parameter &&
                                            tensor.tied_to.empty() &&
                                            counted.insert(id.value).second)
        own.parameters += local_elements(tensor.shape, Binding{});
  }
  return list;
}

PartCost part_cost(const Model& model, ModelPart part, const Binding& binding,
                   const Precision& precision) {
  PartCost total;
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
    if (part.block >= 0 && part.block != b) continue;
    const Block& block = model.blocks[static_cast<std::size_t>(b)];
    const std::vector<PartCost> nodes = node_costs(block.graph, binding, precision);
    const std::int64_t times = part.node < 0 ? block.count : 1;
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (part.node >= 0 && part.node != n) continue;
      const PartCost& once = nodes[static_cast<std::size_t>(n)];
      total += PartCost{once.parameters * times, once.forward * static_cast<double>(times),
                        once.saved * times};
    }
  }
  return total;
}

}  // namespace trainyard
