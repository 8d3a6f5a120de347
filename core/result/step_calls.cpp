#include "core/result/step_calls.h"

namespace trainyard {

void visit_calls(const Workload& workload, std::size_t stage, const VisitCall& visit) {
  const std::int64_t microbatches = trainyard::microbatches(workload.scenario.plan);
  for (const Workload::Run& run : workload.runs[stage]) {
    const Body& body = workload.bodies[static_cast<std::size_t>(run.body)];
    const std::int64_t each = run.count * microbatches;
    for (const auto* ops : {&body.forward, &body.backward})
      for (const BodyOp& op : *ops) visit(op, each);
    const std::int64_t reductions = workload.layout.reduce_every_microbatch ? each : run.count;
    for (const BodyOp& op : body.reduce) visit(op, reductions);
    for (const auto* ops : {&body.gather, &body.update})
      for (const BodyOp& op : *ops) visit(op, run.count);
  }
}

}  // namespace trainyard
