// PipeDream is 1F1B without a flush. Every microbatch is followed by an update, and a stage keeps
// the weights that a forward read until its backward has read them too: p - s versions on stage s,
// each gradient p - 1 - s updates old. With vertical sync a microbatch uses the same version on all
// stages, the one that stage 0 had when it entered: there are p versions, and gradients are p - 1
// updates old on every stage.
//
//   d0  F0 F1 F2          B0U F3 B1U F4 B2U F5 B3U
//   d1     F0 F1      B0U F2  B1U F3 B2U F4 B3U F5
//   d2        F0 B0U  F1  B1U F2 B2U F3 B3U F4 B4U
//
// Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP 2019.
#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/methods/orders/asynchronous.h"

namespace trainyard {
namespace {

Order order_pipedream(const ScheduleShape& shape, const Params& params) {
  const int p = shape.stages;
  Flow flow{.ahead = [p](int stage) { return p - 1 - stage; }};
  if (params.text("sync") == "vertical")
    flow.read = [p](int microbatch, int) { return std::max(0, microbatch - (p - 1)); };
  return flow_order("pipedream", shape, flow);
}

int settles_pipedream(const ScheduleShape& shape, const Params&) {
  return settled_after(shape, shape.stages - 1);
}

Diagnostics check_pipedream(const Scenario& scenario, const Params& params) {
  ScheduleShape shape;
  shape.stages = scenario.plan.mesh.pp;
  shape.microbatches = microbatches(scenario.plan);
  return check_asynchronous("pipedream", scenario, shape.microbatches,
                            settles_pipedream(shape, params) + 1);
}

}  // namespace

Method pipedream() {
  return {
      .name = "pipedream",
      .axis = MethodAxis::Schedule,
      .summary = "1F1B without a flush: an update after every microbatch, older weights stashed.",
      .paper = {"PipeDream: Generalized Pipeline Parallelism for DNN Training", "Narayanan et al.",
                "SOSP", 2019},
      .card = {.gains = "no bubble, once the pipeline is full",
               .costs = "p - s weight versions on stage s, gradients p-1-s updates old, and more "
                        "tokens to the same loss",
               .legal_when = "virtual-stages is 1"},
      .file = "core/methods/schedules/pipedream.cpp",
      .params = {{.name = "sync",
                  .fallback = std::string("stash"),
                  .doc = "stash: a stage's forward reads its newest weights; vertical: all stages "
                         "read the version that stage 0 had",
                  .values = {"stash", "vertical"}}},
      .check = check_pipedream,
      .order = order_pipedream,
      .settles = settles_pipedream,
  };
}

}  // namespace trainyard
