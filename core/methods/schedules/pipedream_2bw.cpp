// In PipeDream-2BW the gradients of the m microbatches of a step are added up before an update, and
// a step's microbatches all read the version before the newest. Two versions are enough everywhere,
// and every gradient is exactly one update old: w(t+1) = w(t) - rate * grad f(w(t-1)).
//
//   d0  F0 F1    B0 F2 B1U F3 B2 F4 B3U F5 B4     m = 2; F2 and F3 read version 0, F4 and F5
//   d1     F0 B0 F1 B1U F2 B2 F3 B3U F4 B4 F5     version 1
//
// Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021.
#include <fmt/format.h>

#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/methods/orders/asynchronous.h"

namespace trainyard {
namespace {

Order order_pipedream_2bw(const ScheduleShape& shape, const Params&) {
  const int p = shape.stages, m = shape.microbatches;
  return flow_order("pipedream-2bw", shape,
                    {.ahead = [p](int stage) { return p - 1 - stage; },
                     .update_every = m,
                     .read = [m](int microbatch, int) { return std::max(0, microbatch / m - 1); }});
}

int settles_pipedream_2bw(const ScheduleShape& shape, const Params&) {
  return settled_after(shape, shape.stages - 1);
}

Diagnostics check_pipedream_2bw(const Scenario& scenario, const Params&) {
  const Plan& plan = scenario.plan;
  const std::int64_t p = plan.mesh.pp, m = microbatches(plan);
  Diagnostics found = check_asynchronous("pipedream-2bw", scenario, 1, 1);
  if (m < p)
    found.push_back({Diagnostic::Severity::Error,
                     fmt::format("pipedream-2bw needs at least pp={} microbatches per step, or a "
                                 "gradient would be more than one update old, and there are {}",
                                 p, m),
                     {"plan#/batch/global"},
                     "global-batch=" + std::to_string(p * plan.batch.micro * *plan.mesh.dp)});
  return found;
}

}  // namespace

Method pipedream_2bw() {
  return {
      .name = "pipedream-2bw",
      .axis = MethodAxis::Schedule,
      .summary = "1F1B without a flush: one update per step, with gradients of the version before.",
      .paper = {"Memory-Efficient Pipeline-Parallel DNN Training", "Narayanan et al.", "ICML",
                2021},
      .card = {.gains = "no bubble, once the pipeline is full, with two weight versions",
               .costs =
                   "one more copy of the weights, gradients one update old, and more tokens to "
                   "the same loss",
               .legal_when = "virtual-stages is 1 and a step has at least pp microbatches"},
      .file = "core/methods/schedules/pipedream_2bw.cpp",
      .check = check_pipedream_2bw,
      .order = order_pipedream_2bw,
      .settles = settles_pipedream_2bw,
  };
}

}  // namespace trainyard
