// Evaluates a model on samples that it was never trained on: the mean loss and the fraction of
// correct answers.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"
#include "core/lowering/lower.h"
#include "core/training/data_source.h"

namespace trainyard {

class Processes;

/// Says who evaluates: each of so many evaluators every so manieth batch. Where there are several
/// processes, all of them call evaluate(), each with all of the parameters.
struct Evaluators {
  std::int64_t count = 1;
  Processes* processes = nullptr;  // which share the evaluators; null: this one has them all
};

/// Evaluates what was trained on the source's evaluation part, in batches of 100; a last batch that
/// is not full is left out. `trained` has the parameters, and what batch norms remember
/// (Backend::statistics()), else they normalise by the statistics of the batch. most_samples: 0 =
/// all of that part. Where the source acts, the model plays all of its evaluation episodes. The
/// result is the same bits whoever evaluates; its time is the processor time of the evaluator that
/// has taken longest.
ModelEvaluation evaluate(const Workload&, const std::vector<TrainedTensor>& trained,
                         const DataSource&, std::int64_t most_samples, const Evaluators& = {});

}  // namespace trainyard
