// Wirings that have sizes: extents of a torus, parts of a dragonfly, links of a cube mesh.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

/// Reads one to three extents of at least 1, as "16x16". Throws Error{InvalidInput} at the place.
std::vector<int> parse_extents(std::string_view, const Place& = {});
/// "16x16"; empty for none.
std::string extents_text(const std::vector<int>&);

/// Returns dimensions of that wiring which suit the level: the torus closest to a square, the
/// dragonfly of most groups with few links of each router, the 6 links of NVLink 2. Empty where a
/// wiring has none, or none suit, as for a dragonfly of one device.
std::vector<int> proposed_dimensions(const Cluster&, std::size_t level, Topology);

}  // namespace trainyard
