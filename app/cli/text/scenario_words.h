// The words that verbs about a scenario share: --model, --cluster, --plan, --set and where the
// answer goes.
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
/// --order, which open_scenario() takes into the plan.
Flag order_flag();
/// Opens what the words name and checks it. Warnings go to err unless --quiet. Throws
/// Error{InvalidInput} with all that is wrong.
Scenario open_scenario(const Words&, Streams&);
/// A line each on err; notes are left out.
void warn(const Diagnostics&, Streams&);

/// The same of what is named only, the model and the cluster left empty where they are not, and
/// checks nothing.
Scenario open_parts(const Words&);

/// --calibration, which open_costs() reads.
Flag calibration_flag();
/// The calibrated cost model, and the scenario's cluster calibrated with it; null where the flag
/// was not given. Throws Error{InvalidInput} when the file or the cluster is none for it.
std::unique_ptr<CostModel> open_costs(const Words&, Scenario&);

/// --grain, by default the one at which the scenario is judged.
Flag grain_flag();
Grain grain_word(const Words&, const Scenario&);

/// Writes a whole file, or nothing. Throws Error{Io}.
void write_file(const std::string& path, const std::string& bytes);
/// Prints to out, or with --out writes that file and says so on err unless --quiet.
void deliver(const std::string& text, const Words&, Streams&);

}  // namespace trainyard
