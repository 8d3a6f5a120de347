#include "app/workspace/scenario/cluster_wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/cluster/wiring.h"

namespace trainyard {
namespace {

// The options behind DEVICE:COUNT that are kept, and one more where it is not empty.
std::string rewritten(std::string_view words, const std::function<bool(std::string_view)>& keeps,
                      const std::string& added) {
  std::string kept;
  for (std::size_t start = 0; start <= words.size();) {
    const std::size_t end = std::min(words.find(',', start), words.size());
    const std::string_view word = words.substr(start, end - start);
    if (start == 0 || keeps(word)) kept += (start == 0 ? "" : ",") + std::string(word);
    start = end + 1;
  }
  return added.empty() ? kept : kept + "," + added;
}

}  // namespace

std::vector<std::string> network_kinds(const Cluster& cluster) {
  if (cluster.levels.size() < 2 || nodes(cluster) < 2) return {};
  std::vector<Topology> kinds = {Topology::FatTree, Topology::Rail};
  if (cluster.device.scale_up_topology != Topology::Torus) kinds.push_back(Topology::Torus);
  kinds.push_back(Topology::Dragonfly);
  if (const Topology now = cluster.levels[1].topology;
      std::find(kinds.begin(), kinds.end(), now) == kinds.end())
    kinds.push_back(now);
  std::vector<std::string> words;
  for (const Topology kind : kinds) words.emplace_back(to_string(kind));
  return words;
}

bool may_be_cube_mesh(const Cluster& cluster) {
  constexpr std::int64_t kCorners = 8;
  const Level& node = cluster.levels.front();
  return devices_per_node(cluster) == kCorners && node.size == kCorners && !node.reduces &&
         (node.topology == Topology::Switch || node.topology == Topology::CubeMesh);
}

std::string proposed_sizes(const Cluster& cluster, std::string_view kind) {
  if (cluster.levels.size() < 2) return {};
  for (const Topology topology : {Topology::Torus, Topology::Dragonfly})
    if (kind == to_string(topology)) return extents_text(proposed_dimensions(cluster, 1, topology));
  return {};
}

std::string with_network(std::string_view words, std::string_view kind, std::string_view sizes,
                         bool torus_inside) {
  const bool tree = kind == to_string(Topology::FatTree);
  const auto keeps = [&](std::string_view word) {
    if (word == "rail" || word == "fat-tree" || word.starts_with("dragonfly=")) return false;
    if (word.starts_with("torus=")) return torus_inside;
    return tree || !word.starts_with("oversubscription=");
  };
  std::string added;
  if (!tree) added = sizes.empty() ? std::string(kind) : fmt::format("{}={}", kind, sizes);
  return rewritten(words, keeps, added);
}

std::string with_cube_mesh(std::string_view words, int links) {
  return rewritten(
      words, [](std::string_view word) { return !word.starts_with("cube-mesh="); },
      links > 0 ? fmt::format("cube-mesh={}", links) : std::string());
}

}  // namespace trainyard
