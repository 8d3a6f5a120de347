#include "core/plan/shared_statistics.h"

#include <algorithm>

#include "core/model/ops.h"
#include "core/model/uses_op.h"

namespace trainyard {
bool shares_statistics(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kBatchNormStatistics);
  return chosen != nullptr && chosen->params.has(kStatisticsSamples) &&
         chosen->params.text(kStatisticsSamples) == kSamplesOfReplicas &&
         plan.mesh.dp.value_or(1) > 1;
}

std::int64_t samples_of_statistics(const Model& model, const Plan& plan) {
  if (!uses_op(model, batch_norm())) return 0;
  return plan.batch.micro * (shares_statistics(plan) ? plan.mesh.dp.value_or(1) : 1);
}

}  // namespace trainyard
