// Offload stores on the host what the device does not need at every moment.
//
//   optimizer     moments and 4-byte weights live in host memory. Gradients go down while backward
//                 makes them, the host updates once all are there (their norm is known then), and
//                 the new weights go up while it updates the next
//   activations   what a microbatch's forward keeps goes down after it and comes back before its
//                 backward, two microbatches each way at most, where three or more other forwards
//                 lie between: nearer ones would be back before they had gone
//
// Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", ATC 2021; Wan et al.,
// "PipeOffload: Improving Scalability of Pipeline Parallelism with Memory Optimization", 2025.
#include "core/methods/memory/offload.h"

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

constexpr std::string_view kOffloadName = "offload";

bool keeps(const Params& params, std::string_view what) {
  const std::string& host = params.text("host");
  return host == what || host == "both";
}

void arrange_offload(Layout& layout, const Scenario&, const Params& params) {
  layout.host_optimizer = keeps(params, "optimizer");
  layout.host_activations = keeps(params, "activations");
}

Diagnostic refused(std::string message, std::string fix) {
  return {
      Diagnostic::Severity::Error, std::move(message), {"plan#/choices/offload"}, std::move(fix)};
}

// Returns why the schedule cannot be followed while something is on the host; "" where it can.
std::string not_followed(const Method& schedule, std::string_view what) {
  const std::string begins = "offload=" + std::string(what) + " is modelled for ";
  const std::string name(schedule.name);
  if (schedule.settles)
    return begins + "schedules that update once a step, and " + name +
           " updates while microbatches are under way";
  if (copies(schedule.placement) > 1)
    return begins + "one copy of every stage, and " + name + " has two";
  if (what == "activations" && schedule.splits_backward)
    return begins + "backwards in one part, and " + name +
           " keeps some activations on until their weight gradient";
  return "";
}

Diagnostics check_offload(const Scenario& scenario, const Params& params) {
  Diagnostics found;
  const Plan& plan = scenario.plan;
  const Method& schedule = schedule_of(plan);
  for (const std::string_view what : {"optimizer", "activations"}) {
    if (!keeps(params, what)) continue;
    if (std::string why = not_followed(schedule, what); !why.empty())
      found.push_back(refused(std::move(why), "schedule=1f1b"));
    else if (what == "activations" && !plan.order.empty())
      found.push_back(refused(
          "offload=activations follows a schedule's own order, and this plan's order is edited",
          "order=own"));
  }
  if (params.text("host") != "none" && !(scenario.cluster.device.host_link.value.value > 0))
    found.push_back(refused(
        "offload needs a link to the host, and " + scenario.cluster.device.name + " states none",
        "offload=none"));
  if (found.empty() && keeps(params, "activations") && plan.mesh.pp < 4 && schedule.name != "gpipe")
    found.push_back({Diagnostic::Severity::Warning,
                     "offload=activations moves what waits for three other forwards at least, and "
                     "fewer than 4 stages have little of it",
                     {"plan#/choices/offload"},
                     "recompute=full"});
  return found;
}

}  // namespace

HostShare host_share(const Body& body, const Layout& layout) {
  if (!layout.host_optimizer) return {};
  const Bytes parameters = share(Bytes{body.parameters.dense}, layout.optimizer_shards) +
                           share(Bytes{body.parameters.expert}, layout.expert_optimizer_shards);
  const Precision& p = layout.precision;
  HostShare one;
  one.gradients = parameters * bytes_of(p.gradient);
  one.weights = parameters * bytes_of(p.parameter);
  one.touched = parameters * layout.optimizer_touched_bytes;
  constexpr int kWeights = 4;  // bytes of the host's own copy, with or without master copies
  one.state = parameters * (layout.optimizer_bytes + kWeights) + one.gradients;
  return one;
}

Method offload() {
  return {
      .name = kOffloadName,
      .axis = MethodAxis::Memory,
      .summary = "Keeps optimizer state, activations or both in the memory of the host.",
      .paper = {"ZeRO-Offload: Democratizing Billion-Scale Model Training", "Ren et al.", "ATC",
                2021},
      .card = {.gains = "optimizer: 12 of 16 bytes per parameter (Adam, mixed precision) leave the "
                        "device; activations: a stage holds some four microbatches instead of as "
                        "many as stages follow",
               .costs = "optimizer: the host's update and what of the traffic no backward hides; "
                        "activations: nothing while the host link keeps up with the stage",
               .legal_when = "synchronous schedules with one copy of every stage; activations: "
                             "gpipe, 1f1b and interleaved"},
      .file = "core/methods/memory/offload.cpp",
      .params = {{.name = "host",
                  .fallback = std::string("none"),
                  .doc = "what the host keeps: none, optimizer, activations or both",
                  .values = {"none", "optimizer", "activations", "both"}}},
      .check = check_offload,
      .arrange = arrange_offload,
  };
}

}  // namespace trainyard
