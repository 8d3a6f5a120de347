// Policies that place a job by what is known when it arrives.
#pragma once

#include "planners/placement/cluster_state.h"

namespace trainyard {

/// The first node that has room, without a partner.
std::optional<std::size_t> first_fit(const ClusterState&, int job,
                                     const std::vector<PlacementOption>&);
/// The fullest node that has room, without a partner.
std::optional<std::size_t> best_fit(const ClusterState&, int job,
                                    const std::vector<PlacementOption>&);
/// The emptiest node, without a partner.
std::optional<std::size_t> least_loaded(const ClusterState&, int job,
                                        const std::vector<PlacementOption>&);
/// The node and the partner with which the node then holds least, so that waves whose peaks
/// complement each other meet. Where jobs may not be paired it is least_loaded().
std::optional<std::size_t> complementary_waves(const ClusterState&, int job,
                                               const std::vector<PlacementOption>&);

}  // namespace trainyard
