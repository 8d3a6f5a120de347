// ZeRO divides the training state over the replicas, where plain data parallel replicates it. A
// volume is the size of all weights:
//
//  stage 1   divides optimizer state: reduce-scatter gradients, update a part, all-gather weights;
//            2 volumes per step. It is the weight-update sharding of Xu et al., "Automatic
//            Cross-Replica Sharding of Weight Update in Data-Parallel Training", 2020
//  stage 2   divides gradients too: the same, but gradients are scattered with every microbatch
//  stage 3   divides weights too (FSDP): each layer gathers its weights before forward and again
//            before backward; 3 volumes
//  hybrid    divides over `shard` ranks only (a node, say); between the groups gradients are
//            all-reduced
//
// Stage 3 without resharding keeps a layer's gathered weights from forward to backward: the second
// gather is not needed, and the full weights of all layers are in memory at once. A single pipeline
// stage frees them with every backward and gathers with every forward (FSDP2); under a pipeline,
// where microbatches are always in flight, they are gathered once per step (torchtitan).
//
// Gradients of stages 2 and 3 are scattered with every microbatch, or accumulated in full on each
// device and scattered once per step, which needs only the communication of stage 1 but the memory
// of all gradients. PyTorch's FSDP accumulates under a pipeline.
//
// Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC
// 2020; Zhao et al., "PyTorch FSDP", VLDB 2023.
#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/settings/resharding.h"
#include "core/plan/layer_ranges.h"

namespace trainyard {
namespace {

constexpr std::string_view kZeroName = "zero";

// A Part is one kind of parameters: how many there are, over which group they are divided and over
// which replicated. A layer that reads a table of another layer has no state of it, but gathers it
// and scatters its gradient wherever it does so with its own. Frozen weights are gathered where
// weights are divided, and have no gradients.
struct Part {
  std::int64_t parameters, shared, frozen, frozen_shared;
  std::int64_t narrow, frozen_narrow, narrow_tensors;  // among the parameters and the frozen ones
  Group shard, replica;
  std::int64_t replicas;  // number of ranks that hold the same shard; 1 = no replication
  std::string label;
};

void rewrite_zero(Body& body, const Layout& layout, const Scenario& scenario,
                  const Params& params) {
  const std::int64_t stage = params.integer("stage");
  const Mesh& mesh = scenario.plan.mesh;
  const std::int64_t data = ranks(mesh, Group::Data), group = layout.shard_group;
  if (stage == 0 || (data == 1 && ranks(mesh, Group::ExpertData) == 1)) return;
  const bool hybrid = group > 0 && group < data;
  const LocalParameters& p = body.parameters;
  const NarrowWeights& n = body.narrow;
  const Part parts[] = {
      {p.dense, p.shared, p.frozen_dense, p.frozen_shared, n.dense, n.frozen_dense, n.dense_tensors,
       hybrid ? Group::Shard : Group::Data, Group::Replica, hybrid ? data / group : 1, ""},
      {p.expert, 0, p.frozen_expert, 0, n.expert, n.frozen_expert, n.expert_tensors,
       Group::ExpertData, Group::Replica, 1, "expert "}};
  const bool keeps = stage == 3 && (!reshards_after_forward(scenario.plan) ||
                                    params.text(kGatheredLayers) == "all");
  const bool around_layer = stage == 3 && !(keeps && mesh.pp > 1);
  // This replaces what data parallel wrote, and leaves what tensor ranks add up among themselves.
  std::erase_if(body.reduce, [](const BodyOp& op) { return op.group != Group::Tensor; });
  for (const Part& part : parts) {
    if (part.replicas == 1 && ranks(mesh, part.shard, group) == 1) continue;
    const std::int64_t scattered = part.parameters + (layout.gradient_shards > 1 ? part.shared : 0),
                       gathered = part.parameters + (stage == 3 ? part.frozen : 0) +
                                  (around_layer && !keeps ? part.shared + part.frozen_shared : 0);
    if (scattered > 0) {
      const Bytes gradients = gradient_bytes(scattered, layout);
      if (layout.gradient_shards > 1) body.unreduced += gradients;
      body.reduce.push_back(collective_op(kZeroName, "scatter " + part.label + "gradients",
                                          NodeId{}, Pass::BackwardWeight,
                                          CollectiveKind::ReduceScatter, part.shard, gradients));
      if (part.replicas > 1)
        body.reduce.push_back(collective_op(kZeroName, "reduce " + part.label + "shards", NodeId{},
                                            Pass::BackwardWeight, CollectiveKind::AllReduce,
                                            part.replica, share(gradients, group)));
    }
    // Ranks that each cast a part of a tensor agree on the largest size of an element in it.
    if (n.apart && part.narrow_tensors > 0)
      body.gather.push_back(
          collective_op(kZeroName, "reduce largest sizes of " + part.label + "weights", NodeId{},
                        Pass::Forward, CollectiveKind::AllReduce, part.shard,
                        Bytes{part.narrow_tensors * bytes_of(DType::F32)}));
    if (gathered == 0) continue;
    const Bytes weights =
        gathered_bytes(body, gathered, part.narrow + (stage == 3 ? part.frozen_narrow : 0), layout);
    const BodyOp gather =
        collective_op(kZeroName, "gather " + part.label + "weights", NodeId{}, Pass::Forward,
                      CollectiveKind::AllGather, part.shard, weights);
    if (keeps) body.resident += weights;
    if (!around_layer) {
      body.gather.push_back(gather);
      continue;
    }
    body.forward.insert(body.forward.begin(), gather);
    body.gathered += keeps ? Bytes{} : weights;
    if (keeps || body.backward.empty()) continue;
    BodyOp again = gather;
    again.pass = Pass::BackwardInput;
    body.backward.insert(body.backward.begin(), again);
  }
}

bool reduces_every(const Plan& plan, const Params& params) {
  const std::string& word = params.text("reduce");
  return word == "framework" ? !gathers_once_a_step(plan) : word == "microbatch";
}

void arrange_zero(Layout& layout, const Scenario& scenario, const Params& params) {
  const std::int64_t stage = params.integer("stage");
  const Mesh& mesh = scenario.plan.mesh;
  const std::int64_t data = ranks(mesh, Group::Data), wanted = params.integer("shard");
  layout.shard_group = wanted > 0 ? std::min(wanted, data) : data;
  const std::int64_t dense = layout.shard_group, expert = ranks(mesh, Group::ExpertData);
  if (stage >= 1) layout.optimizer_shards = dense, layout.expert_optimizer_shards = expert;
  const bool every = stage >= 2 && reduces_every(scenario.plan, params);
  if (every) layout.gradient_shards = dense, layout.expert_gradient_shards = expert;
  if (stage >= 3) layout.weight_shards = dense, layout.expert_weight_shards = expert;
  if (every && std::max(data, expert) > 1) layout.reduce_every_microbatch = true;
}

Diagnostics check_zero(const Scenario& scenario, const Params& params) {
  Diagnostics found;
  const Mesh& mesh = scenario.plan.mesh;
  const std::int64_t data = ranks(mesh, Group::Data), shard = params.integer("shard"),
                     stage = params.integer("stage");
  const std::string name = "zero=" + std::to_string(stage);
  if (shard > 0 && (shard > data || data % shard != 0)) {
    std::int64_t legal = std::min(shard, data);
    while (data % legal != 0) --legal;
    found.push_back({Diagnostic::Severity::Error,
                     "hybrid=" + std::to_string(shard) + " does not divide the " +
                         std::to_string(data) + " data-parallel ranks (dp x cp)",
                     {"plan#/choices/zero/shard"},
                     "hybrid=" + std::to_string(legal)});
  }
  if (stage > 0 && data == 1 && ranks(mesh, Group::ExpertData) == 1)
    found.push_back(
        {Diagnostic::Severity::Warning,
         name + " divides state over data-parallel ranks, and there is one: nothing is saved",
         {"plan#/choices/zero/stage"},
         "zero=0"});
  if (stage < 3 && params.text("reshard") == "off")
    found.push_back({Diagnostic::Severity::Warning,
                     "reshard-after-forward=off keeps the weights that zero=3 gathers, and " +
                         name + " divides none: nothing changes",
                     {"plan#/choices/zero/reshard"},
                     "zero=3"});
  check_layer_ranges(parse_layer_ranges(params.text(kGatheredLayers)), layer_count(scenario.model),
                     {"plan#/choices/zero/" + std::string(kGatheredLayers)}, found);
  if (params.text(kGatheredLayers) != "none" &&
      (stage < 3 || !reshards_after_forward(scenario.plan)))
    found.push_back(
        {Diagnostic::Severity::Warning,
         "gathered-layers names layers that keep the weights which zero=3 gathers, and " +
             (stage < 3 ? name + " divides none"
                        : std::string("without resharding all layers keep them")) +
             ": nothing changes",
         {"plan#/choices/zero/" + std::string(kGatheredLayers)},
         "zero.gathered-layers=none"});
  if (stage < 2 && params.text("reduce") == "microbatch")
    found.push_back({Diagnostic::Severity::Warning,
                     "zero-reduce=microbatch is for gradients that zero=2 and zero=3 divide, and " +
                         name + " divides none: nothing changes",
                     {"plan#/choices/zero/reduce"},
                     "zero=2"});
  if (stage == 2 && mesh.pp > 1 && reduces_every(scenario.plan, params))
    found.push_back({Diagnostic::Severity::Warning,
                     "zero=2 under a pipeline reduces gradients with every microbatch: " +
                         std::to_string(microbatches(scenario.plan)) +
                         " times the traffic of zero=1",
                     {"plan#/choices/zero/stage"},
                     "zero=1"});
  return found;
}

}  // namespace

Method zero() {
  return {
      .name = kZeroName,
      .axis = MethodAxis::Reduction,
      .summary =
          "Divides optimizer state (1, weight-update sharding), gradients (2) and weights (3, "
          "FSDP) over the data-parallel ranks.",
      .paper = {"ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
                "Rajbhandari et al.", "SC", 2020},
      .card = {.gains = "state per parameter from 16 bytes to 4 + 12/N (1), 2 + 14/N (2), 16/N (3)",
               .costs = "stages 1 and 2 none in volume; stage 3 half as much again, and with every "
                        "microbatch",
               .legal_when = "dp x cp > 1; the shard group divides it"},
      .file = "core/methods/parallel/zero.cpp",
      .params = {{.name = "stage",
                  .fallback = std::int64_t{0},
                  .doc =
                      "0 replicated, 1 optimizer (weight-update sharding), 2 and gradients, 3 and "
                      "weights (FSDP)",
                  .low = 0,
                  .high = 3},
                 {.name = "shard",
                  .fallback = std::int64_t{0},
                  .doc = "ranks among which state is divided (hybrid); 0 = all",
                  .low = 0,
                  .high = 1e6},
                 {.name = "reshard",
                  .fallback = std::string("framework"),
                  .doc = "stage 3: lets go of gathered weights after forward; off keeps them for "
                         "backward, one gather less, as frameworks do that gather once a step "
                         "under a pipeline",
                  .values = {"framework", "on", "off"}},
                 {.name = kGatheredLayers,
                  .fallback = std::string("none"),
                  .doc = "stage 3: layers that keep their gathered weights for backward while "
                         "others let go of them: none, all, or such as last:1 or 0-3, counted "
                         "from 0",
                  .refusal = layer_ranges_refusal},
                 {.name = "reduce",
                  .fallback = std::string("framework"),
                  .doc = "stages 2 and 3: gradients are scattered with every microbatch, or added "
                         "up in full and scattered once a step",
                  .values = {"framework", "microbatch", "step"}}},
      .check = check_zero,
      .arrange = arrange_zero,
      .rewrite = rewrite_zero,
  };
}

}  // namespace trainyard
