#include "backends/executable.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/model/ops.h"

namespace trainyard {

void add_error(Diagnostics& found, std::string message, std::string place, std::string fix) {
  found.push_back(
      {Diagnostic::Severity::Error, std::move(message), {std::move(place)}, std::move(fix)});
}

std::int64_t routed_experts(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.op == &routed_matmul()) return graph[node.inputs[1]].shape[0].size;
  return 0;
}

void check_executable(const Model& model, std::string_view who, Diagnostics& found) {
  const Graph& last = model.blocks.back().graph;
  if (!last[last.output].shape.empty())
    add_error(found,
              fmt::format("{} trains models that end in a loss, found the output {} {}", who,
                          last[last.output].name, to_text(last[last.output].shape)),
              "model#/blocks");
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &router() && attribute(node, "groups", 1) > 1) {
        add_error(
            found,
            fmt::format("{} lets a token choose among all experts, found groups of them in {}", who,
                        block.name),
            "model#/blocks/" + block.name);
        return;
      }
  bool handed_on = false;
  for (const Block& block : model.blocks) {
    const TensorId side = block.graph.side_input;
    if (side.valid() && side != block.graph.input && !handed_on)
      add_error(found,
                fmt::format("{} hands a second input from layer to layer, beginning with one whose "
                            "input it is, found that no layer hands {} to {}",
                            who, block.graph[side].name, block.name),
                "model#/blocks/" + block.name);
    handed_on = side.valid();
  }
}

void check_executable(const Program& p, Diagnostics& found) {
  for (const Task& task : p.tasks) {
    if (task.kind != TaskKind::Compute || task.phase == Phase::Update || task.node.valid())
      continue;
    add_error(found,
              "expected a program at op grain, found an instruction of no op: " +
                  std::string(p.name(task.name)),
              "program");
    return;
  }
}

}  // namespace trainyard
