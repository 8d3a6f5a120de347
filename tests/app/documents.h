// Reads values from the program's documents.
#pragma once

#include "core/io/json/json.h"

namespace trainyard {

/// Documents write whole numbers without a decimal point, even for reals.
inline double number(const Json& json) {
  return json.real() ? *json.real() : static_cast<double>(*json.integer());
}

}  // namespace trainyard
