// What can be read and set of a cluster, as fields with their sources: the form in which someone
// builds a cluster, or an accelerator that nobody sells yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

/// What a number that someone typed says of itself.
inline constexpr std::string_view kAssumedSource = "assumed";

struct ClusterField {
  std::string key;     // "memory"
  std::string group;   // "Accelerator", "Inside a node", "Between nodes", "Efficiency"
  std::string title;   // "Memory"
  std::string value;   // with its unit, as it is read
  std::string source;  // "datasheet"; empty for what is no figure
  std::string doc;     // one line
  std::vector<std::string> words = {};  // where the value is one of a few
};

/// Every field that can be set, in the order of a form.
std::vector<ClusterField> cluster_fields(const Cluster&);
/// The cluster with that field at that value; a figure's source becomes "assumed". Throws
/// Error{InvalidInput} at the key: no such field (nearest), a value that cannot be, or whatever
/// check() finds of the result.
Cluster with_cluster_field(const Cluster&, std::string_view key, std::string_view value);

}  // namespace trainyard
