#include "core/plan/shared_statistics.h"

namespace trainyard {

bool shares_statistics(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kBatchNormStatistics);
  return chosen != nullptr && chosen->params.has(kStatisticsSamples) &&
         chosen->params.text(kStatisticsSamples) == kSamplesOfReplicas &&
         plan.mesh.dp.value_or(1) > 1;
}

}  // namespace trainyard
