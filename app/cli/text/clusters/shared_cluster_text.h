// Prints `trainyard network`: what jobs that reduce in rings or in switches leave to the short
// flows beside them.
#pragma once

#include <string>

#include "core/network/shared_cluster.h"

namespace trainyard {

std::string shared_cluster_text(const SharedClusterAnswer&);

}  // namespace trainyard
