// Prints the results of a training run.
#pragma once

#include <string>

#include "app/workspace/runs/training_run.h"

namespace trainyard {

std::string run_text(const TrainingReport&);
/// Returns whether the two backends of a check agree, and where they first differ: one line.
std::string check_sentence(const TrainingReport&);

}  // namespace trainyard
