// Jobs that share a network as one trainyard/shared-cluster document, which both programs write.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/network/shared_cluster.h"

namespace trainyard {

Json shared_cluster_schema();
std::string shared_cluster_document(const SharedClusterAnswer&);

}  // namespace trainyard
