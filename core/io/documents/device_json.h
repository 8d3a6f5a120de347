// This file writes a device as the document trainyard/device@1: every figure with its source, and
// every parameter that predictions for the device use.
#pragma once

#include <string>

#include "core/cluster/device.h"
#include "core/cost/parameters.h"
#include "core/io/json/fields.h"

namespace trainyard {

Json device_schema();
std::string device_document(const Device&, const Parameters& = {});

}  // namespace trainyard
