// Lists the values that a knob could have other than the plan's own: the words of a setting, or
// numbers in both directions. It does not say which of them are legal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// The size of the cluster, which is no setting but is what users change first.
inline constexpr std::string_view kDevicesKnob = "devices";

struct KnobValues {
  std::string now;                        // "" = the plan does not state it
  std::vector<std::string> below, above;  // of a number; nearest to the present value first
  std::vector<std::string> words;         // of a list; all but `now`
  bool none() const { return below.empty() && above.empty() && words.empty(); }
};

/// All divisors of `of`, ascending.
std::vector<std::int64_t> divisors(std::int64_t of);

/// Every knob of the plan: kDevicesKnob, the settings() whose values can be listed, and the
/// parameters of its schedule and precision by their names. The plan must be complete.
std::vector<std::string> knob_keys(const Scenario& complete);

/// Degrees take values that divide the devices, microbatches values that divide a rank's samples,
/// and other numbers change by factors of two. The plan must be complete.
KnobValues knob_values(std::string_view key, const Scenario& complete);

}  // namespace trainyard
