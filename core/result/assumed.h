// A setting that moves the answer and that nobody gave: what was taken for it, and what the answer
// would be if it were otherwise.
#pragma once

#include <string>

#include "core/base/units.h"

namespace trainyard {

struct Assumed {
  std::string setting;   // "recompute": a key of --set
  std::string taken;     // "none"
  std::string other;     // "full": the likeliest of the others, as --set reads it
  Duration step{};       // under the other
  double change = 0;     // of the time a sample takes, as a share; negative = faster
  std::string sentence;  // "recompute not stated, none assumed; full would be 12.4 s, +31 %"
};

}  // namespace trainyard
