// Loss and share of right answers on samples that were never trained on.
#pragma once

#include <vector>

#include "backends/cpu/cpu_run.h"
#include "core/lowering/lower.h"
#include "core/training/data_source.h"

namespace trainyard {

/// most_samples: 0 = all of the source's evaluation part, in batches of 100; a rest is left out.
ModelEvaluation evaluate(const Workload&, const std::vector<TrainedTensor>&, const DataSource&,
                         std::int64_t most_samples);

}  // namespace trainyard
