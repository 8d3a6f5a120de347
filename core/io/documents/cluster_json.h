// This file reads and writes clusters as documents, trainyard/cluster@1: a device of the catalogue
// or of the user, how many, and the levels of links.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"
#include "core/io/json/fields.h"

namespace trainyard {

const Fields<Cluster>& cluster_fields();
/// Returns canonical text; read_cluster() returns an equal cluster. A device that is equal to one
/// of the catalogue is written as its id, another as an object whose "base" names the catalogue's
/// device from which the members not given are taken.
std::string write_cluster(const Cluster&);
Json to_json(const Cluster&);
/// Writes out the device with all members, even if it is in the catalogue.
Json to_json(const Device&);

/// Without "levels" the device's default cluster is taken. A number may be plain ("80 GiB") or
/// {"value", "source"}. Throws Error{InvalidInput} at "SOURCE#/pointer", also for unknown members
/// and for whatever check() finds.
Cluster read_cluster(std::string_view text, const std::string& source);

}  // namespace trainyard
