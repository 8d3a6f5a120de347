// Assumed is a setting that affects the answer and was not given: the value that was taken for it,
// and the answer under another value.
#pragma once

#include <string>

#include "core/base/units.h"

namespace trainyard {

struct Assumed {
  std::string setting;   // "recompute": a key of --set
  std::string taken;     // "none"
  std::string other;     // "full": the likeliest other value, as --set reads it
  Duration step{};       // with the other value
  double change = 0;     // change of the time per sample, as a share; negative = faster
  std::string sentence;  // "recompute not stated, none assumed; full would be 12.4 s, +31 %"
};

}  // namespace trainyard
