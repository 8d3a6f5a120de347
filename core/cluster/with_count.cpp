#include "core/cluster/with_count.h"

#include <algorithm>
#include <string>

namespace trainyard {

bool says_all(const Cluster& cluster) {
  if (cluster.name.find(':') == std::string::npos) return false;
  try {
    return parse_cluster(cluster.name) == cluster;
  } catch (const Error&) {
    return false;
  }
}

Cluster with_count(const Cluster& cluster, std::int64_t devices) {
  if (devices == cluster.count) return cluster;
  if (says_all(cluster)) {
    const std::size_t colon = cluster.name.find(':'),
                      end = std::min(cluster.name.find(',', colon), cluster.name.size());
    return parse_cluster(cluster.name.substr(0, colon + 1) + std::to_string(devices) +
                         cluster.name.substr(end));
  }
  Cluster other = cluster;
  other.count = devices;
  throw_if_errors(check(other));
  return other;
}

}  // namespace trainyard
