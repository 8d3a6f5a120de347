// This file fits the shipped parameters to a user's own rows.
#pragma once

#include <string>

#include "core/validation/cross.h"
#include "core/validation/profile.h"

namespace trainyard {

/// One to three step times, and nothing else, give one factor on all times
/// (core/validation/cluster_factor.h), drawn towards 1 by how far the published groups are apart;
/// parameters keep their shipped values, and the factor is of clusters of the rows' devices alone.
/// More rows give parameters:
///
/// Every parameter starts from its shipped value and is held near it; groups of rows have equal
/// weights. `name` of the rows goes into the provenance. Throws Error{InvalidInput} where no row
/// can be predicted and counted.
ParameterProfile calibrate_to_rows(const RowSet&, const std::string& name, int threads);

}  // namespace trainyard
