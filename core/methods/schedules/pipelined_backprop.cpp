// Fine-grained pipelined backpropagation has one layer per stage, one sample per microbatch, and an
// update after each. On stage s of S forwards are D = 2(S-1-s) samples ahead of backwards, and D
// updates lie between a forward and its own backward: a sample passes S-1-s stages on its way to
// the last one and as many on its way back, and the stage updates once during each of these
// 2(S-1-s) passes. Spike compensation makes up for the momentum that a late gradient has missed;
// linear weight prediction lets a forward read the weights that its update will find.
//
//   d0  F0 F1 F2 F3 F4 B0U F5 B1U F6 B2U ...      D = 4
//   d1     F0 F1 F2 B0U F3 B1U F4 B2U ...         D = 2
//   d2        F0 B0U F1 B1U F2 B2U ...            D = 0
//
// Kosson et al., "Pipelined Backpropagation at Scale: Training Large Models without Batches", MLSys
// 2021.
#include <fmt/format.h>

#include "core/methods/catalogue.h"
#include "core/methods/orders/asynchronous.h"

namespace trainyard {
namespace {

Order order_pipelined_backprop(const ScheduleShape& shape, const Params& params) {
  const int last = shape.stages - 1;
  return flow_order(
      "pipelined-backprop", shape,
      {.ahead = [last](int stage) { return 2 * (last - stage); }, .stash = params.flag("stash")});
}

int settles_pipelined_backprop(const ScheduleShape& shape, const Params&) {
  return settled_after(shape, 2 * (shape.stages - 1));
}

// An update writes the weights that it predicts beside its own, and a stash copies the ones before.
void arrange_pipelined_backprop(Layout& layout, const Scenario&, const Params& params) {
  constexpr int kPredictedBytes = 4;
  if (params.text("predict") == "none") return;
  layout.optimizer_bytes += kPredictedBytes;
  layout.optimizer_touched_bytes += kPredictedBytes;
  if (params.flag("stash")) layout.optimizer_touched_bytes += 2 * kPredictedBytes;
}

Diagnostics check_pipelined_backprop(const Scenario& scenario, const Params& params) {
  const Plan& plan = scenario.plan;
  ScheduleShape shape;
  shape.stages = plan.mesh.pp;
  shape.microbatches = microbatches(plan);
  Diagnostics found = check_asynchronous("pipelined-backprop", scenario, shape.microbatches,
                                         settles_pipelined_backprop(shape, params) + 1);
  if (plan.batch.micro != 1)
    found.push_back({Diagnostic::Severity::Error,
                     fmt::format("pipelined-backprop works sample by sample, and micro-batch is {}",
                                 plan.batch.micro),
                     {"plan#/batch/micro"},
                     "micro-batch=1"});
  if (const int n = layer_count(scenario.model); n > plan.mesh.pp)
    found.push_back({Diagnostic::Severity::Warning,
                     fmt::format("pipelined-backprop is meant for a layer a stage, and {} layers "
                                 "stand on {} stages: delays are counted in stages",
                                 n, plan.mesh.pp),
                     {"plan#/mesh/pp"},
                     {}});
  return found;
}

}  // namespace

Method pipelined_backprop() {
  return {
      .name = "pipelined-backprop",
      .axis = MethodAxis::Schedule,
      .summary = "A layer a stage, a sample at a time, an update after each; no batch, no flush.",
      .paper = {"Pipelined Backpropagation at Scale: Training Large Models without Batches",
                "Kosson et al.", "MLSys", 2021},
      .card = {.gains = "no bubble after 2p-1 samples of fill; activations of single samples",
               .costs = "gradients 2(p-1-s) updates old on stage s, which momentum amplifies; "
                        "products of one sample fill few devices; a prediction keeps one more "
                        "buffer of the weights' size",
               .legal_when = "virtual-stages is 1 and micro-batch is 1"},
      .file = "core/methods/schedules/pipelined_backprop.cpp",
      .params =
          {{.name = "compensate",
            .fallback = true,
            .doc = "spike compensation: a late gradient brings the momentum it has missed; of "
                   "momentum alone"},
           {.name = "predict",
            .fallback = std::string("velocity"),
            .doc = "weights ahead of time for the forward: none; by velocity (momentum alone); by "
                   "the last change of weight",
            .values = {"none", "velocity", "weight"}},
           {.name = "horizon",
            .fallback = -1.0,
            .doc = "updates that the prediction looks ahead; -1 = the stage's delay",
            .low = -1,
            .high = 1e6},
           {.name = "stash",
            .fallback = false,
            .doc = "keep the weights that a forward read for its backward"}},
      .check = check_pipelined_backprop,
      .order = order_pipelined_backprop,
      .settles = settles_pipelined_backprop,
      .arrange = arrange_pipelined_backprop,
  };
}

}  // namespace trainyard
