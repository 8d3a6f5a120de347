// Writes a training run as a document, trainyard/run@1, and as text.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/runs/training_run.h"
#include "core/io/json/fields.h"

namespace trainyard {

const Fields<TrainingReport>& run_fields();
std::string run_document(const TrainingReport&);

/// The losses as one line of `width` characters, with higher bars for higher losses. If there are
/// more losses than characters, each bar is the mean of an equal part. Values that are not finite
/// are "!".
std::string sparkline(const std::vector<double>& losses, std::size_t width);

}  // namespace trainyard
