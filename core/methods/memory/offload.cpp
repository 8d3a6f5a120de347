// Offload stores on the host what the device does not need at every moment.
//
//   optimizer     moments and 4-byte weights live in host memory. Gradients go down while backward
//                 makes them, the host updates once all are there (their norm is known then), and
//                 the new weights go up while it updates the next
//   activations   what a microbatch's forward keeps goes down after it and comes back before its
//                 backward, two microbatches each way at most, where three or more other forwards
//                 lie between: nearer ones would be back before they had gone
//
// With layers=all, or some of them, activations leave layer by layer instead, for every microbatch:
// a layer's go down once nothing in forward reads them any more, and come back before its backward,
// which also serves a device without a pipeline. in-flight is the number of layers whose
// activations are under way at once at most. Here it is 1: L2 begins when L0's have left, and L1's
// come back while L2 is in backward. The last layers stay where backward follows, because theirs
// would be back before they had gone:
//
//   forward    L0 L1 L2 L3 L4       backward   L4 L3 L2 L1 L0
//   down          L0 L1 L2          up            L2 L1 L0
//
// With more in flight, a layer's activations come back beside the nearest earlier layer of backward
// from whose start on the copies are hidden (core/lowering/layer_copies.h).
//
// With tier=nvme the moments and 4-byte weights live on the node's NVMe drives, and only buffers
// for three layers of them in host memory. All devices of a node share its drives:
//
//   read    L0 L1 L2 L3 ...      the step ends as late as the slowest of the three lets it; a
//   update     L0 L1 L2 ...      layer's buffer is free again once its state is written and its
//   write         L0 L1 ...      new weights are on the device
//
// Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", ATC 2021; Rajbhandari et
// al., "ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep Learning", SC 2021; Wan
// et al., "PipeOffload: Improving Scalability of Pipeline Parallelism with Memory Optimization",
// 2025; Rhu et al., "vDNN: Virtualized Deep Neural Networks for Scalable, Memory-Efficient Neural
// Network Design", MICRO 2016 (layer by layer).
#include "core/methods/memory/offload.h"

#include "core/cluster/nvme.h"
#include "core/methods/catalogue.h"
#include "core/model/ops.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

constexpr std::string_view kOffloadName = "offload";
constexpr std::string_view kTogether = "together";  // layers of a stage leave at once
constexpr std::string_view kInFlight = "in-flight";
constexpr double kMostInFlight = 16;
Place layers_place() { return {"plan#/choices/offload/layers"}; }

bool keeps(const Params& params, std::string_view what) {
  const std::string& host = params.text("host");
  return host == what || host == "both";
}

bool by_layer(const Params& params) { return params.text(kOffloadedLayers) != kTogether; }

// Returns the message that refuses the text of layers; "" where it is valid.
std::string layers_refusal(std::string_view text) {
  if (text == kTogether || text == kFewestLayers) return "";
  try {
    parse_policies(text, {}, PolicyWords::Offload);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

bool on_nvme(const Params& params) { return params.text("tier") == "nvme"; }

void arrange_offload(Layout& layout, const Scenario&, const Params& params) {
  layout.host_optimizer = keeps(params, "optimizer");
  layout.host_activations = keeps(params, "activations");
  layout.nvme_optimizer = layout.host_optimizer && on_nvme(params);
  if (layout.host_activations && by_layer(params))
    layout.layers_in_flight = static_cast<std::uint8_t>(params.integer(kInFlight));
}

bool is_read_by_convolution(const Graph& graph, TensorId tensor) {
  return tensor.valid() && std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) {
           return (n.op == &convolution() || n.op == &sparse_convolution()) &&
                  std::find(n.inputs.begin(), n.inputs.end(), tensor) != n.inputs.end();
         });
}

bool leaves(const SavedTensor& saved, const LayerPolicy& policy, const Graph& graph) {
  switch (policy.kind) {
    case LayerPolicy::Kind::All:
      return true;
    case LayerPolicy::Kind::Convolutions:
      return is_read_by_convolution(graph, saved.tensor);
    case LayerPolicy::Kind::Made:
      return std::binary_search(
          policy.kept.begin(), policy.kept.end(),
          saved.producer.valid() ? graph[saved.producer].name : std::string("input"));
    default:
      return false;
  }
}

void rewrite_offload(Body& body, const Layout& layout, const Scenario& scenario,
                     const Params& params) {
  const Block& block = scenario.model.blocks[static_cast<std::size_t>(body.block)];
  if (layout.layers_in_flight == 0 || !block.layer || body.backward.empty()) return;
  const LayerPolicy policy =
      parse_layer_policy(params.text(kOffloadedLayers), layers_place(), PolicyWords::Offload);
  for (SavedTensor& saved : body.saved)
    saved.leaves = !saved.recomputed && leaves(saved, policy, block.graph);
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

// Returns why NVMe cannot have the state; no error where it can.
Diagnostics check_nvme(const Scenario& scenario, const Params& params) {
  if (!keeps(params, "optimizer"))
    return {refused("offload-tier=nvme says where optimizer state lives, and offload=" +
                        params.text("host") + " leaves it on the device",
                    "offload-tier=host")};
  const Nvme nvme = nvme_of(scenario.cluster);
  for (const auto& [rate, option] :
       {std::pair{&nvme.read, "nvme-read"}, std::pair{&nvme.write, "nvme-write"}})
    if (!(rate->value.value > 0))
      return {refused("offload-tier=nvme needs the rate of a node's NVMe, and " +
                          scenario.cluster.name + " states no " + option + "; add it to the " +
                          "cluster, as " + option + "=20GB/s",
                      "offload-tier=host")};
  return {};
}

// Returns why activations cannot leave layer by layer; no error where they can.
Diagnostics check_layers(const Scenario& scenario, const Params& params) {
  if (!keeps(params, "activations"))
    return {refused("offload-layers says which layers' activations leave, and offload=" +
                        params.text("host") + " leaves them on the device",
                    params.text("host") == "none" ? "offload=activations" : "offload=both")};
  if (params.text(kOffloadedLayers) == kFewestLayers)
    return {
        refused("offload-layers=dynamic is answered where a model and a cluster are opened with "
                "it, and this plan still asks",
                "offload-layers=all")};
  for (const Block& block : scenario.model.blocks)
    if (block.graph.side_input.valid())
      return {
          refused("offload-layers is modelled for layers that read the layer before them alone, "
                  "and " +
                      block.name + " reads the output of an encoder too",
                  "offload-layers=together")};
  return check_policies(
      parse_policies(params.text(kOffloadedLayers), layers_place(), PolicyWords::Offload),
      scenario.model, stage_layers(scenario.model, scenario.plan), layers_place(),
      PolicyWords::Offload);
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
  if (found.empty() && on_nvme(params)) found = check_nvme(scenario, params);
  if (found.empty() && by_layer(params)) return check_layers(scenario, params);
  if (found.empty() && keeps(params, "activations") && plan.mesh.pp < 4 && schedule.name != "gpipe")
    found.push_back({Diagnostic::Severity::Warning,
                     "offload=activations moves what waits for three other forwards at least, and "
                     "fewer than 4 stages have little of it",
                     {"plan#/choices/offload"},
                     "offload-layers=all"});
  return found;
}

}  // namespace

std::optional<RecomputePolicies> offloaded_layers(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kOffloadName);
  if (chosen == nullptr) return std::nullopt;
  const Params params = with_defaults(chosen->params, method(kOffloadName).params);
  const bool asks = params.text(kOffloadedLayers) == kFewestLayers;
  if (!keeps(params, "activations") || !by_layer(params) || asks) return std::nullopt;
  return parse_policies(params.text(kOffloadedLayers), layers_place(), PolicyWords::Offload);
}

HostShare host_share(const Body& body, const Layout& layout) {
  if (!layout.host_optimizer) return {};
  const Bytes parameters{updated_share(body, layout)};
  const Precision& p = layout.precision;
  HostShare one;
  one.gradients = parameters * bytes_of(p.gradient);
  one.weights = parameters * bytes_of(p.parameter);
  one.touched = parameters * layout.optimizer_touched_bytes;
  constexpr int kWeights = 4;  // bytes of the host's own copy, with or without master copies
  one.state = one.gradients;
  if (layout.nvme_optimizer)
    one.nvme = parameters * nvme_bytes_a_parameter(layout);
  else
    one.state += parameters * (layout.optimizer_bytes + kWeights);
  return one;
}

int nvme_bytes_a_parameter(const Layout& layout) {
  const Precision& p = layout.precision;
  return layout.optimizer_bytes + (p.master_weights ? 4 : bytes_of(p.parameter));
}

Method offload() {
  return {
      .name = kOffloadName,
      .axis = MethodAxis::Memory,
      .summary =
          "Keeps optimizer state, activations or both in the memory of the host; optimizer "
          "state on its NVMe too, activations by whole stages or layer by layer.",
      .paper = {"ZeRO-Offload: Democratizing Billion-Scale Model Training", "Ren et al.", "ATC",
                2021},
      .card = {.gains = "optimizer: 12 of 16 bytes per parameter (Adam, mixed precision) leave the "
                        "device; activations: a stage holds some four microbatches instead of as "
                        "many as stages follow, and by layers some two layers instead of all",
               .costs =
                   "optimizer: the host's update and what of the traffic no backward hides; on "
                   "NVMe, its reads and writes where they are slower than that; activations: "
                   "nothing while the host link keeps up with the stage, or by layers with each "
                   "layer's next one",
               .legal_when = "synchronous schedules with one copy of every stage; activations: "
                             "gpipe, 1f1b and interleaved"},
      .file = "core/methods/memory/offload.cpp",
      .params = {{.name = "host",
                  .fallback = std::string("none"),
                  .doc = "what the host keeps: none, optimizer, activations or both",
                  .values = {"none", "optimizer", "activations", "both"}},
                 {.name = "tier",
                  .fallback = std::string("host"),
                  .doc = "where offloaded optimizer state lives: in host memory, or on the node's "
                         "NVMe with buffers for three layers in host memory",
                  .values = {"host", "nvme"}},
                 {.name = kOffloadedLayers,
                  .fallback = std::string(kTogether),
                  .doc =
                      "together (activations leave by whole stages), dynamic (the fewest layers "
                      "with which the plan fits, found where a model and a cluster are opened), or "
                      "what leaves layer by layer: all, convolutions (what they read), "
                      "made=<nodes> (what they make), none; a stage's layers in runs, "
                      "all*4,none, and its stages, all*4,none/none",
                  .refusal = layers_refusal},
                 {.name = kInFlight,
                  .fallback = std::int64_t{1},
                  .doc = "layers whose activations are under way to the host, or back, at once at "
                         "most",
                  .low = 1,
                  .high = kMostInFlight}},
      .check = check_offload,
      .arrange = arrange_offload,
      .rewrite = rewrite_offload,
  };
}

}  // namespace trainyard
