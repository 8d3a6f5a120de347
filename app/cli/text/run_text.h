// What a training run found out, for people.
#pragma once

#include <string>

#include "app/workspace/runs/training_run.h"

namespace trainyard {

std::string run_text(const TrainingReport&);

}  // namespace trainyard
