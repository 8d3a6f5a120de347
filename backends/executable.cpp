#include "backends/executable.h"

#include <fmt/format.h>

#include <utility>

namespace trainyard {

void add_error(Diagnostics& found, std::string message, std::string place, std::string fix) {
  found.push_back(
      {Diagnostic::Severity::Error, std::move(message), {std::move(place)}, std::move(fix)});
}

void check_executable(const Model& model, std::string_view who, Diagnostics& found) {
  const Graph& last = model.blocks.back().graph;
  if (!last[last.output].shape.empty())
    add_error(found,
              fmt::format("{} trains models that end in a loss, found the output {} {}", who,
                          last[last.output].name, to_text(last[last.output].shape)),
              "model#/blocks");
  for (const Block& block : model.blocks)
    if (block.graph.side_input.valid())
      add_error(found,
                fmt::format("{} executes layers of one input, found the second input {} of {}", who,
                            block.graph[block.graph.side_input].name, block.name),
                "model#/blocks/" + block.name);
}

}  // namespace trainyard
