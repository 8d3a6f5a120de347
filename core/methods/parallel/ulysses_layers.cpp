#include "core/methods/parallel/ulysses_layers.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/methods/layers/context_region.h"
#include "core/model/ops.h"
#include "core/plan/layer_ranges.h"

namespace trainyard {
namespace {

Diagnostic diagnostic(Diagnostic::Severity severity, std::string sentence, std::string fix) {
  return {severity,
          std::move(sentence),
          {"plan#/choices/tensor-parallel/" + std::string(kUlyssesLayers)},
          std::move(fix)};
}

// Why tensor ranks cannot exchange heads for tokens in layers of the block; "" if they can.
std::string why_not(const Block& block, std::int64_t tp) {
  const Graph& graph = block.graph;
  const std::string ranks = std::to_string(tp) + " tensor ranks ";
  const auto divides = [&](std::int64_t heads, const std::string& of) {
    return heads % tp == 0 ? "" : ranks + "do not divide the " + std::to_string(heads) + of;
  };
  const Shape& output = graph[graph.output].shape;
  if (std::none_of(output.begin(), output.end(), [&](const Dim& d) {
        return d.axis == Axis::Sequence || d.axis == Axis::SequenceRegion;
      }))
    return ranks + "have all tokens of " + graph[graph.output].name;
  for (const Tensor& tensor : graph.tensors)
    if (!tensor.tied_to.empty()) return ranks + "divide " + tensor.tied_to + ", which it reads too";
  for (const Node& node : graph.nodes) {
    if (node.op == &router() || node.op == &routed_matmul())
      return ranks + "have each their own experts, or a part of all";
    if (node.op == &selective_scan())
      return ranks + "exchange channels for tokens, and " + node.name +
             " reads sums over all channels";
    if (node.op == &attention() && !attends_over_ranks(node))
      return ranks + "do not divide the tokens to which " + node.name + " attends";
    if (attends_over_ranks(node)) {
      const std::int64_t heads = attribute(node, "heads", 1);
      for (const std::string& why :
           {divides(heads, " attention heads"),
            divides(attribute(node, "kv_heads", heads), " key/value heads")})
        if (!why.empty()) return why;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!enters_heads(graph, node, i)) continue;
      const Tensor& tensor = graph[node.inputs[i]];
      const Dim& last = tensor.shape.back();
      const std::int64_t heads = last.units > 0 ? last.units : last.size;
      const bool shared = last.axis == Axis::KvHeads && tp % heads == 0;
      if (const std::string why = divides(heads, " heads of " + tensor.name);
          !why.empty() && !shared)
        return why;
    }
  }
  return "";
}

}  // namespace

Diagnostics check_ulysses_layers(const Scenario& scenario, const Params& params) {
  const std::string& text = params.text(kUlyssesLayers);
  if (text == "none") return {};
  const std::string none = "tensor-parallel." + std::string(kUlyssesLayers) + "=none";
  const LayerRanges ranges = parse_layer_ranges(text);
  const int layers = layer_count(scenario.model);
  Diagnostics found;
  check_layer_ranges(ranges, layers,
                     {"plan#/choices/tensor-parallel/" + std::string(kUlyssesLayers)}, found);
  if (has_errors(found)) return found;
  const Mesh& mesh = scenario.plan.mesh;
  if (mesh.tp == 1)
    return {
        diagnostic(Diagnostic::Severity::Warning,
                   "ulysses-layers names layers in which tensor ranks exchange heads for tokens, "
                   "and there is one rank: nothing changes",
                   none)};
  const auto refuse = [](std::string sentence, std::string fix) {
    return Diagnostics{
        diagnostic(Diagnostic::Severity::Error, std::move(sentence), std::move(fix))};
  };
  if (!params.flag("sequence-parallel"))
    return refuse(
        "ulysses-layers names layers whose tensor ranks have each a part of the sequence, "
        "which sequence-parallel=off gives to none",
        "sequence-parallel=on");
  if (mesh.cp > 1)
    return refuse("ulysses-layers lets tensor ranks exchange heads for tokens, and cp=" +
                      std::to_string(mesh.cp) + " already divides the sequence over context ranks",
                  "cp=1");
  const std::vector<bool> in = in_ranges(ranges, layers);
  int first = 0;
  for (const Block& block : scenario.model.blocks) {
    if (!block.layer) continue;
    const auto begin = in.begin() + first, end = begin + block.count;
    first += block.count;
    if (std::find(begin, end, true) == end) continue;
    if (const std::string why = why_not(block, mesh.tp); !why.empty())
      return refuse(
          "in layers that ulysses-layers names, tensor ranks exchange heads for tokens; in " +
              block.name + ", " + why,
          none);
  }
  return {};
}

}  // namespace trainyard
