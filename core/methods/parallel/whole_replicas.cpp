#include "core/methods/parallel/whole_replicas.h"

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/trained_parts.h"

namespace trainyard {

std::int64_t trained_tensors(const Body& body, const Model& model, const Layout& layout) {
  const Graph& graph = model.blocks[static_cast<std::size_t>(body.block)].graph;
  const std::vector<bool> frozen = frozen_parameters(graph);
  std::int64_t count = 0;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t)
    count += graph.tensors[t].kind == TensorKind::Parameter && !frozen[t] &&
             (graph.tensors[t].tied_to.empty() || layout.tied_copies);
  return count;
}

void check_whole_replicas(const Plan& plan, const WholeReplicas& method, const Place& place,
                          Diagnostics& found) {
  const auto refuse = [&](std::string sentence, std::string fix) {
    found.push_back({Diagnostic::Severity::Error, std::move(sentence), place, std::move(fix)});
  };
  const Mesh& mesh = plan.mesh;
  for (const auto& [axis, degree, what] :
       {std::tuple{"tp", mesh.tp, "tensor ranks have parts of the tensors"},
        std::tuple{"cp", mesh.cp, "context ranks have parts of one sample's gradient"},
        std::tuple{"ep", mesh.ep, "expert ranks have other experts than their neighbours"}})
    if (degree > 1)
      refuse(fmt::format("{} {}, and {}, found {}={}{}", method.word, method.tensors, what, axis,
                         degree, method.instead),
             fmt::format("{}=1", axis));
  if (const Choice* zero = find_choice(plan, "zero");
      zero != nullptr && zero->params.integer("stage") > 0)
    refuse(fmt::format("{} {}, and zero={} {}", method.word, method.state,
                       zero->params.integer("stage"), method.divided),
           "zero=0");
  if (const Choice* offload = find_choice(plan, "offload"); offload != nullptr) {
    const std::string& host = offload->params.text("host");
    if (host == "optimizer" || host == "both")
      refuse(fmt::format("{} {}, and offload={} {}", method.word, method.device, host, method.host),
             "offload=none");
  }
}

}  // namespace trainyard
