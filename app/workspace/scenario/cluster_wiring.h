// The wirings that the words of a cluster may name, with sizes for those that need some: what a
// form offers, and how a choice is written among the other options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

/// The kinds of network between nodes that may be chosen for the cluster, the usual one first; none
/// where there is one node. A device whose links inside a node are a torus has none between them.
std::vector<std::string> network_kinds(const Cluster&);
/// Returns whether devices of a node may be wired as the cube mesh of a DGX-1: eight, whose
/// switches do not add up what passes them.
bool may_be_cube_mesh(const Cluster&);

/// Sizes of that kind of network as core/cluster/wiring.h proposes them, as words have them: "8x4".
/// Empty where a kind has none, or none suit.
std::string proposed_sizes(const Cluster&, std::string_view kind);

/// The words with that network instead of what they name. Oversubscription stays with a fat tree
/// alone. Nothing is checked. `torus_inside`: torus= is of the devices
/// of a node, and stays.
std::string with_network(std::string_view words, std::string_view kind, std::string_view sizes,
                         bool torus_inside = false);
/// The words with so many links of each device of a cube mesh; 0 = no cube mesh.
std::string with_cube_mesh(std::string_view words, int links);

}  // namespace trainyard
