// Writes the output of "trainyard tune", as text and as a document.
#pragma once

#include <string>

#include "app/workspace/runs/tuning.h"
#include "core/io/json/json.h"

namespace trainyard {

/// A value of the goal, such as "1.83 s", "31.2 GiB", "$0.012", "0.4312".
std::string goal_text(TuneGoal, double value);
/// The trial's varied settings and those of its family, as words of a command line: "--set
/// micro-batch=8".
std::string words_of(const TuneReport&, const TuneTrial&);
/// All trials, the best so far by cost, what each family was given, and the best settings.
std::string tune_text(const TuneReport&);
/// The document trainyard/tune@1.
Json tune_schema();
std::string tune_document(const TuneReport&);

}  // namespace trainyard
