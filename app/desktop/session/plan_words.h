// Words of the window for the settings of a plan: their titles, and sentences in which titles stand
// where the command line has keys and files have addresses.
#pragma once

#include <QString>

#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace trainyard {

/// The title of a setting: "Tensor" for "tp", "Global batch" for "global-batch".
QString setting_title(std::string_view key);
/// The title of a change: "Tensor 8, Data 1" for "tp=8 dp=1".
QString change_name(const std::string& assignments);
/// The keys of the settings at which a fault lies, by its place ("--set seq", "plan#/mesh/pp");
/// empty if it lies elsewhere. A fault of the whole mesh lies at tp, pp and cp.
std::vector<std::string> settings_at(const std::string& place);
/// The sentence of a fault with titles in place of keys, and without its place or advice:
/// "Pipeline: 96 layers cannot fill 128 stages". A fault that lies at no setting keeps its place.
QString fault_sentence(const std::string& place, const std::string& message);

/// The unit in which changes of a step are shown: one in which the step itself is at least 1.
struct StepUnit {
  const char* name;  // "s", "ms"
  double seconds;    // of one unit
};
StepUnit unit_of(Duration step);
/// "−0.38" for a change from one step time to another, in the unit of the first.
QString step_change(Duration from, Duration to);

}  // namespace trainyard
