// This file lists what can be read and set of a cluster as fields with their sources. With it a
// user builds a cluster, or an accelerator that nobody sells yet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

/// The source of a number that a user typed.
inline constexpr std::string_view kAssumedSource = "assumed";

struct ClusterField {
  std::string key;     // "memory"
  std::string group;   // "Accelerator", "Inside a node", "Between nodes", "Efficiency"
  std::string title;   // "Memory"
  std::string value;   // with its unit, as it is read
  std::string source;  // "datasheet"; empty for a field that is no figure
  std::string doc;     // one line
  std::vector<std::string> words = {};  // the legal words, where the value must be one of a few
};

/// Returns every field that can be set, in the order of the form.
std::vector<ClusterField> cluster_fields(const Cluster&);
/// Returns the cluster with that field set to that value; the source of a figure becomes "assumed".
/// Throws Error{InvalidInput} at the key for an unknown field (naming the nearest), an impossible
/// value, or anything that check() finds wrong with the result.
Cluster with_cluster_field(const Cluster&, std::string_view key, std::string_view value);

}  // namespace trainyard
