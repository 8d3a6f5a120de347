// The hybrid cube mesh joins the 8 devices of a DGX-1: two squares with their diagonals, each
// corner joined to that of the other square. It is interwoven rings of single links: two where a
// device has 4 links (P100, NVLink 1) and three where it has 6 (V100, NVLink 2), so that some pairs
// have two links. NVIDIA, "DGX-1 with Tesla V100 System Architecture" (WP-08437-002, 2017); links
// between pairs as the topology files of NCCL have them (github.com/NVIDIA/nccl issue 671).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

inline constexpr std::int64_t kCubeMeshDevices = 8;
using CubeMeshRing = std::array<std::int64_t, kCubeMeshDevices>;

/// Every link of the mesh belongs to one ring. links: of each device, 4 or 6.
std::span<const CubeMeshRing> cube_mesh_rings(int links);
/// Returns how many links join two places of a node; 0 for one place.
int cube_mesh_links(std::int64_t a, std::int64_t b, int links);
/// Returns the places that have links to both, by rising number: a message between places without
/// a link is forwarded by them.
std::vector<std::int64_t> cube_mesh_between(std::int64_t a, std::int64_t b, int links);

}  // namespace trainyard
