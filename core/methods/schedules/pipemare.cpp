// PipeMare has one copy of the weights and neither flushes the pipeline nor stashes weights. A
// forward reads the current weights and so does its backward, 2(p-i)+1 microbatches later on stage
// i of p, that is (2(p-i)+1)/N updates later with N microbatches per update; the optimizer corrects
// for the delay instead. T1 divides a stage's first rates by its delay, T2 moves the weights that a
// backward reads back along their mean change, T3 begins with flushed steps.
//
//   d0  F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 ...
//   d1     F0 F1 B0 F2 B1 F3 B2 F4 B3 ...
//
// Yang et al., "PipeMare: Asynchronous Pipeline Parallel DNN Training", MLSys 2021.
#include "core/methods/catalogue.h"
#include "core/methods/orders/asynchronous.h"

namespace trainyard {
namespace {

// On the last stage one microbatch is in flight between its forward and its own backward: these are
// two consecutive ones of the paper's 2p places.
int ahead(int stages, int stage, const Params& params) {
  const int below = stages - 1 - stage;
  return params.text("flow") == "1f1b" ? below : 2 * below + 1;
}

Order order_pipemare(const ScheduleShape& shape, const Params& params) {
  return flow_order("pipemare", shape,
                    {.ahead = [&](int stage) { return ahead(shape.stages, stage, params); },
                     .update_every = shape.microbatches,
                     .flush_steps = static_cast<int>(params.integer("warmup")),
                     .stash = false});
}

int settles_pipemare(const ScheduleShape& shape, const Params& params) {
  return 2 * static_cast<int>(params.integer("warmup")) +
         settled_after(shape, ahead(shape.stages, 0, params));
}

// T2 has one more number per parameter, read and written with each update: the rewound weight,
// which together with the weight says what the mean weight change is.
void arrange_pipemare(Layout& layout, const Scenario&, const Params& params) {
  constexpr int kRewoundBytes = 4;
  if (!params.flag("correct")) return;
  layout.optimizer_bytes += kRewoundBytes;
  layout.optimizer_touched_bytes += 2 * kRewoundBytes;
}

Diagnostics check_pipemare(const Scenario& scenario, const Params&) {
  return check_asynchronous("pipemare", scenario, 1, 1);
}

}  // namespace

Method pipemare() {
  return {
      .name = "pipemare",
      .axis = MethodAxis::Schedule,
      .summary = "No flush and no stash: the optimizer tolerates weights that change in between.",
      .paper = {"PipeMare: Asynchronous Pipeline Parallel DNN Training", "Yang et al.", "MLSys",
                2021},
      .card = {.gains = "no bubble, once the pipeline is full, with one copy of the weights",
               .costs = "forward and backward read different weights, at rates that the delay "
                        "limits; T2 keeps one more buffer of the weights' size",
               .legal_when = "virtual-stages is 1"},
      .file = "core/methods/schedules/pipemare.cpp",
      .params = {{.name = "flow",
                  .fallback = std::string("paper"),
                  .doc = "microbatches between a forward and its backward on stage s: paper, "
                         "2(p-1-s)+1; 1f1b, p-1-s",
                  .values = {"paper", "1f1b"}},
                 {.name = "reschedule",
                  .fallback = std::int64_t{0},
                  .doc = "T1: updates over which the rate anneals from rate / delay; 0 = off",
                  .high = 1e9},
                 {.name = "correct",
                  .fallback = true,
                  .doc = "T2: backwards rewind their weights to those that the forward read"},
                 {.name = "decay",
                  .fallback = 0.1353352832366127,
                  .doc = "T2: what the mean motion of the weights keeps over a delay; e^-2",
                  .low = 1e-9,
                  .high = 1},
                 {.name = "warmup",
                  .fallback = std::int64_t{0},
                  .doc = "T3: steps with a flush before the first one without",
                  .high = 100}},
      .check = check_pipemare,
      .order = order_pipemare,
      .settles = settles_pipemare,
      .arrange = arrange_pipemare,
  };
}

}  // namespace trainyard
