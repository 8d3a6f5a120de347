#include "core/network/cube_mesh.h"

namespace trainyard {
namespace {

constexpr CubeMeshRing kRings[] = {
    {0, 1, 2, 3, 7, 5, 6, 4}, {0, 2, 6, 7, 4, 5, 1, 3}, {0, 3, 2, 1, 5, 6, 7, 4}};

}  // namespace

std::span<const CubeMeshRing> cube_mesh_rings(int links) {
  return std::span(kRings).first(static_cast<std::size_t>(links) / 2);
}

int cube_mesh_links(std::int64_t a, std::int64_t b, int links) {
  int found = 0;
  for (const CubeMeshRing& ring : cube_mesh_rings(links))
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::int64_t from = ring[i], to = ring[(i + 1) % ring.size()];
      if ((from == a && to == b) || (from == b && to == a)) ++found;
    }
  return found;
}

std::vector<std::int64_t> cube_mesh_between(std::int64_t a, std::int64_t b, int links) {
  std::vector<std::int64_t> found;
  for (std::int64_t place = 0; place < kCubeMeshDevices; ++place)
    if (cube_mesh_links(a, place, links) > 0 && cube_mesh_links(place, b, links) > 0)
      found.push_back(place);
  return found;
}

}  // namespace trainyard
