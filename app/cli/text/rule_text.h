// Rules as text: what they say of a run or a timeline, and the words that ask for them.
#pragma once

#include <optional>
#include <vector>

#include "app/cli/text/lines.h"
#include "app/cli/verb.h"
#include "app/workspace/runs/run_rules.h"

namespace trainyard {

/// Reads --rules, --rule-interval and --on-rule: nothing where no rules are asked for. Throws
/// Error{InvalidInput} for wrong words, and for the other two without --rules.
std::optional<RuleWatch> rule_watch(const Words&);

/// A line for each rule that fired and what to try, then those that were left out.
void write_rules(Out&, const RuleReport&);
/// Only the lines of those that fired.
void write_fired(Out&, const std::vector<FiredRule>&);

}  // namespace trainyard
