// Evaluates a model on samples that it was never trained on: the mean loss and the fraction of
// correct answers.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"
#include "core/lowering/lower.h"
#include "core/training/data_source.h"

namespace trainyard {

/// Evaluates what was trained on the source's evaluation part, in batches of 100; a last batch that
/// is not full is left out. `trained` has the parameters, and what batch norms remember
/// (Backend::statistics()), else they normalise by the statistics of the batch. most_samples: 0 =
/// all of that part. Where the source acts, the model plays all of its evaluation episodes.
ModelEvaluation evaluate(const Workload&, const std::vector<TrainedTensor>& trained,
                         const DataSource&, std::int64_t most_samples);

}  // namespace trainyard
