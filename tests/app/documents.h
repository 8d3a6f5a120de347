// What documents of the program hold.
#pragma once

#include "core/io/json/json.h"

namespace trainyard {

/// Documents write whole numbers without a point, whatever they count.
inline double number(const Json& json) {
  return json.real() ? *json.real() : static_cast<double>(*json.integer());
}

}  // namespace trainyard
