// Cost models price each transfer by itself and leave out some of a cluster's wiring, in these
// words. Transfers that share the links of a Network leave out none of it.
#pragma once

#include <string_view>

namespace trainyard {

inline constexpr std::string_view kLeafOfNodeLeftOut =
    "which leaf switch a node hangs on: everything that leaves a node is divided by the "
    "oversubscription";
inline constexpr std::string_view kUnevenMeshLeftOut =
    "uneven meshes such as the hybrid cube mesh of 8 V100, taken as a switch";

}  // namespace trainyard
