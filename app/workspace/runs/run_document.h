// A training run as a document, trainyard/run@1, and as text.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/runs/training_run.h"

namespace trainyard {

std::string run_document(const TrainingReport&);

/// The losses as one line of `width` characters, higher bars for higher losses: means of equal
/// parts where there are more losses than characters. Those that are not finite are "!".
std::string sparkline(const std::vector<double>& losses, std::size_t width);

}  // namespace trainyard
