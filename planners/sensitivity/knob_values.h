// Which values a knob could have beside the plan's own: a setting's words, or its numbers in both
// directions. Nothing is said of which of them are legal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// The cluster's size: no setting, and yet what people turn first.
inline constexpr std::string_view kDevicesKnob = "devices";

struct KnobValues {
  std::string now;                        // "" = the plan does not say
  std::vector<std::string> below, above;  // of a number: nearest first
  std::vector<std::string> words;         // of a list: all but `now`
  bool none() const { return below.empty() && above.empty() && words.empty(); }
};

/// All that divide it, rising.
std::vector<std::int64_t> divisors(std::int64_t of);

/// Every knob of the plan: kDevicesKnob, settings() whose values can be listed, and the parameters
/// of its schedule and precision by their names. The plan must be complete.
std::vector<std::string> knob_keys(const Scenario& complete);

/// Degrees step through what divides the devices, microbatches through what divides a rank's
/// samples, other numbers by factors of two. The plan must be complete.
KnobValues knob_values(std::string_view key, const Scenario& complete);

}  // namespace trainyard
