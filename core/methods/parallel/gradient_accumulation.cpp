// In gradient accumulation the gradients of m microbatches are added up in place and reduced once,
// so that a batch of any size fits into the memory of one microbatch.
//
//   F0 B0  F1 B1  F2 B2  F3 B3  reduce  update
//
// Ott et al., "Scaling Neural Machine Translation", WMT 2018 (delayed updates).
#include <algorithm>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

Diagnostics check_gradient_accumulation(const Scenario& scenario, const Params&) {
  const Plan& plan = scenario.plan;
  const std::int64_t one = plan.batch.micro * *plan.mesh.dp;
  if (plan.batch.global % one == 0) return {};
  const std::int64_t nearest = std::max(one, (plan.batch.global + one / 2) / one * one);
  return {{Diagnostic::Severity::Error,
           "a global batch of " + std::to_string(plan.batch.global) +
               " is not a whole number of microbatches: " + std::to_string(plan.batch.micro) +
               " samples on each of " + std::to_string(*plan.mesh.dp) +
               " data-parallel ranks make " + std::to_string(one),
           {"plan#/batch/global"},
           "global-batch=" + std::to_string(nearest)}};
}

}  // namespace

Method gradient_accumulation() {
  return {
      .name = "gradient-accumulation",
      .axis = MethodAxis::Reduction,
      .summary = "Adds up the gradients of several microbatches and reduces them once.",
      .paper = {"Scaling Neural Machine Translation", "Ott et al.", "WMT", 2018},
      .card = {.gains = "any global batch in the memory of one microbatch; one reduction a step "
                        "instead of m",
               .costs = "nothing but the gradient buffer, which stays alive through the step",
               .legal_when = "micro-batch x dp divides the global batch"},
      .file = "core/methods/parallel/gradient_accumulation.cpp",
      .params =
          {{.name = "reduce",
            .fallback = std::string("last"),
            .doc =
                "when gradients are reduced: with the last microbatch of a step, or with every one",
            .values = {"last", "every"}}},
      .check = check_gradient_accumulation,
      .arrange =
          [](Layout& layout, const Scenario&, const Params& params) {
            if (params.text("reduce") == "every") layout.reduce_every_microbatch = true;
          },
  };
}

}  // namespace trainyard
