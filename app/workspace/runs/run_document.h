// Writes a training run as a document, trainyard/run@1, and as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/workspace/runs/training_run.h"
#include "core/io/json/fields.h"
#include "core/training/adasum.h"
#include "core/training/optimizers/layer_ratios.h"

namespace trainyard {

/// Returns how many updates Adasum combined in a step: one of each replica, or of each node.
std::int64_t updates_combined(const TrainingReport&);
/// Returns what the orthogonality of the last steps says of a larger batch; nothing where no
/// updates were combined.
std::optional<BatchHeadroom> headroom_of(const TrainingReport&);

const Fields<TrainingReport>& run_fields();
std::string run_document(const TrainingReport&);

/// The losses as one line of `width` characters, with higher bars for higher losses. If there are
/// more losses than characters, each bar is the mean of an equal part. Values that are not finite
/// are "!".
std::string sparkline(const std::vector<double>& losses, std::size_t width);
/// Draws values whose range is known: `low` has the lowest bar and `high` the highest.
std::string sparkline(const std::vector<double>& values, std::size_t width, double low,
                      double high);

}  // namespace trainyard
