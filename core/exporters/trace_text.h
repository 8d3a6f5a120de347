// How traces of Chrome's form write texts and times.
#pragma once

#include <string>
#include <string_view>

#include "core/base/units.h"

namespace trainyard {

/// Returns a JSON string with its quotes; bytes that are not UTF-8 become the replacement
/// character.
std::string trace_string(std::string_view text);
/// Returns microseconds with three decimals, so that no nanosecond is lost; not for negative times.
std::string trace_microseconds(Duration);

}  // namespace trainyard
