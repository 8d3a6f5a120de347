// Handles the words that verbs about a scenario share: --model, --cluster, --plan, --set and where
// the answer goes.
#pragma once

#include <memory>
#include <string>

#include "app/cli/verb.h"
#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "core/plan/plan.h"

namespace trainyard {

/// The shared flags, followed by the verb's own.
std::vector<Flag> with_scenario_flags(std::vector<Flag> own);
/// The flag --order, which open_scenario() takes into the plan.
Flag order_flag();
/// Opens and checks the scenario that the words name. Warnings go to err unless --quiet. Throws
/// Error{InvalidInput} with every error.
Scenario open_scenario(const Words&, Streams&);
/// Writes one line per warning to err; notes are left out.
void warn(const Diagnostics&, Streams&);

/// Opens only what is named: model and cluster stay empty if they are not named. Checks nothing.
Scenario open_parts(const Words&);

/// The flags --calibration and --cost, which prices_word() reads.
Flag calibration_flag();
Flag cost_flag();
/// The measured prices that the words ask for, as open_cost_model() reads them; empty = the
/// workbench's own. Throws Error{InvalidInput} if --cost needs kernels that nothing names.
std::string prices_word(const Words&);
/// The cost model of prices_word(), which also calibrates the scenario's cluster; null if that is
/// empty. Throws Error{InvalidInput} if the file is no calibration, or does not apply to the
/// cluster.
std::unique_ptr<CostModel> open_costs(const Words&, Scenario&);

/// The flag --grain; the default is the grain at which the scenario is judged.
Flag grain_flag();
Grain grain_word(const Words&, const Scenario&);

/// Prints to out; with --out it writes that file instead and says so on err unless --quiet.
void deliver(const std::string& text, const Words&, Streams&);

}  // namespace trainyard
