#include "core/plan/context_degrees.h"

#include <numeric>
#include <utility>

#include "core/model/ops.h"

namespace trainyard {

std::vector<std::int64_t> heads_of_attention(const Model& model, int tp) {
  Binding binding;
  binding.tp = tp;
  std::vector<std::int64_t> found;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes) {
      if (!attends_over_ranks(node)) continue;
      const std::int64_t heads = attribute(node, "heads", 1);
      for (const auto& [count, axis] :
           {std::pair{heads, Axis::Heads}, {attribute(node, "kv_heads", heads), Axis::KvHeads}})
        found.push_back(local_size({count, axis, count}, binding));
    }
  return found;
}

int most_by_heads(const Model& model, const Mesh& mesh) {
  std::int64_t most = mesh.cp;
  for (const std::int64_t heads : heads_of_attention(model, mesh.tp)) most = std::gcd(most, heads);
  return static_cast<int>(most);
}

int ulysses_degree(const Model& model, const Mesh& mesh, const Params& params) {
  const std::string& kind = params.text("kind");
  if (kind != "hybrid") return kind == "ulysses" ? mesh.cp : 1;
  const std::int64_t stated = params.integer("ulysses");
  if (stated == 0) return most_by_heads(model, mesh);
  return mesh.cp % stated == 0 ? static_cast<int>(stated) : 1;
}

}  // namespace trainyard
