#include "core/result/evaluation_cost.h"

#include <fmt/format.h>

#include "core/base/units_text.h"

namespace trainyard {

std::string evaluation_sentence(const EvaluationCost& cost, Duration step) {
  const double more = cost.of_step(step);
  return fmt::format("evaluating {} samples once in {} steps takes {}{}, {} of the time to train",
                     cost.samples, cost.every, readable(cost.time.value),
                     cost.replicas > 1 ? fmt::format(" on {} replicas", cost.replicas)
                                       : std::string(" on one replica"),
                     readable_share(more / (1 + more)));
}

}  // namespace trainyard
