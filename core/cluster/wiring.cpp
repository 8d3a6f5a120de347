#include "core/cluster/wiring.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::vector<int> squarest(std::int64_t joined) {
  std::int64_t side = 1;
  for (std::int64_t s = 1; s * s <= joined; ++s)
    if (joined % s == 0) side = s;
  if (side == 1) return {static_cast<int>(joined)};
  return {static_cast<int>(joined / side), static_cast<int>(side)};
}

// Groups of four routers with few links of each; where devices do not divide into those, of other
// numbers of routers and links.
std::vector<int> dragonfly_of(std::int64_t devices) {
  constexpr int kRouters[] = {4, 8, 2, 3, 6, 1};
  constexpr std::int64_t kMostGroups = 64;
  for (const int most_links : {4, 64})
    for (const int routers : kRouters)
      for (auto groups = static_cast<int>(std::min(kMostGroups, devices / routers)); groups >= 2;
           --groups) {
        if (devices % (std::int64_t{groups} * routers) != 0) continue;
        for (int links = 1; links <= most_links; ++links)
          if (routers * links % (groups - 1) == 0) return {groups, routers, links};
      }
  return {};
}

}  // namespace

std::vector<int> parse_extents(std::string_view text, const Place& place) {
  std::vector<int> result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('x', start), text.size());
    const std::int64_t extent = parse_integer(text.substr(start, end - start), place);
    if (extent < 1 || extent > kMostDevices || result.size() == 3)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected one to three extents of at least 1 such as \"16x16\", "
                              "found \"{}{}\"",
                              text.substr(0, 60), text.size() > 60 ? "..." : ""),
                  place);
    result.push_back(static_cast<int>(extent));
    start = end + 1;
  }
  return result;
}

std::string extents_text(const std::vector<int>& extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

std::vector<int> proposed_dimensions(const Cluster& cluster, std::size_t level, Topology topology) {
  constexpr int kLinks = 6;
  const std::int64_t below = level == 0 ? 1 : cluster.levels[level - 1].size;
  switch (topology) {
    case Topology::Torus:
      return squarest(cluster.levels[level].size / below);
    case Topology::Dragonfly:
      return dragonfly_of(cluster.count);
    case Topology::CubeMesh:
      return {kLinks};
    default:
      return {};
  }
}

}  // namespace trainyard
