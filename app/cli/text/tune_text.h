// What "trainyard tune" says, as text and as a document.
#pragma once

#include <string>

#include "app/workspace/runs/tuning.h"

namespace trainyard {

/// "1.83 s", "31.2 GiB", "$0.012", "0.4312": a value of the goal.
std::string goal_text(TuneGoal, double value);
/// What is varied and the family's settings, as words of a command line: "--set micro-batch=8".
std::string words_of(const TuneReport&, const TuneTrial&);
/// All trials, the best so far against cost, what each family was given, the best settings.
std::string tune_text(const TuneReport&);
/// trainyard/tune@1.
std::string tune_document(const TuneReport&);

}  // namespace trainyard
