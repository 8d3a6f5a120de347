// This file has what backends that train by HALP need (core/methods/precision/halp.cpp): the data
// they read, and what of a training does not go with it.
#pragma once

#include <memory>
#include <string_view>

#include "backends/backend.h"

namespace trainyard {

/// Returns the job's data as HALP reads them; null where another optimizer trains. The job's data
/// must outlive it.
std::unique_ptr<DataSource> anchored_data(const BackendJob&);
/// Adds everything about the training or the data that keeps HALP from it, where it is the
/// optimizer. `who` begins the sentences: "a local run", "the reference".
void check_anchored(const BackendJob&, std::string_view who, Diagnostics&);

}  // namespace trainyard
