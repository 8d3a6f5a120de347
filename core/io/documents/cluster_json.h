// Clusters as documents, trainyard/cluster@1: a device of the catalogue or one's own, how many, and
// the levels of links.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"
#include "core/io/json/json.h"

namespace trainyard {

/// Canonical text; read_cluster gives an equal cluster back. A device is its id where the catalogue
/// has the very same; otherwise an object whose "base" names the catalogue's device that the
/// members not given come from.
std::string write_cluster(const Cluster&);
Json to_json(const Cluster&);
/// Written out, whatever the catalogue has.
Json to_json(const Device&);

/// "levels" may be left out: the device's default cluster. A number may be plain ("80 GiB") or
/// {"value", "source"}. Throws Error{InvalidInput} at "SOURCE#/pointer" with the sentence, unknown
/// members and whatever check() finds too.
Cluster read_cluster(std::string_view text, const std::string& source);

}  // namespace trainyard
