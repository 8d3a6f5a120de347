// Low-rank adaptation trains two narrow matrices beside each targeted linear layer, and freezes all
// the weights that were there.
//
//            ┌── W [in, out], frozen ─────────────────────┐
//   x [in] ──┤                                            + ── y [out]
//            └── A [in, r] ── B [r, out] ── alpha / r ────┘
//
// B begins as zero, so that the model begins as it was. Frozen weights have no gradients, optimizer
// state or master copy; gradients pass through them. Where tensor ranks cut W by columns, A is
// whole and B is cut by columns; where they cut it by rows, A is cut by rows, its r-wide sums are
// reduced as W's output is, and B is whole. Experts that are stored as one tensor have an adapter
// each, A [experts, in, r] and B [experts, r, out], as those of PEFT's target_parameters, and
// they are where their expert is.
//
// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022 (arXiv 2106.09685).
#include "core/cluster/local_device.h"
#include "core/methods/catalogue.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"

namespace trainyard {
namespace {

constexpr std::string_view kLoraPlace = "plan#/choices/lora";

// Alpha may be left to the rank, which leaves the adapter's output as it is.
Model adapt(Model model, const Plan&, const Params& params) {
  const std::int64_t rank = params.integer("rank"), alpha = params.integer("alpha");
  return with_adapters(std::move(model), {rank, alpha > 0 ? alpha : rank, params.text("targets")},
                       {std::string(kLoraPlace) + "/targets"});
}

bool adapts_experts(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (is_adapter(node) && node.op == &routed_matmul()) return true;
  return false;
}

// Tensor ranks that cut experts gather the copies of all their tokens around the products, and
// under sequence parallel the first product of an adapter has a rank's own copies alone.
bool cuts_adapted_experts(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const Choice* const tensor = find_choice(plan, "tensor-parallel");
  return plan.mesh.tp > 1 && !whole_experts(plan.mesh) && tensor != nullptr &&
         tensor->params.flag("sequence-parallel") && adapts_experts(scenario.model);
}

Diagnostics check_lora(const Scenario& scenario, const Params&) {
  if (cuts_adapted_experts(scenario))
    return {{Diagnostic::Severity::Error,
             "adapters of experts are modelled for whole experts on every tensor rank where "
             "sequence parallel divides the tokens, and tp=" +
                 std::to_string(scenario.plan.mesh.tp) + " cuts each expert",
             {std::string(kLoraPlace) + "/targets"},
             "etp=1"}};
  if (find_choice(scenario.plan, "frozen") == nullptr) return {};
  return {{Diagnostic::Severity::Error,
           "lora freezes all weights but its adapters, and the plan freezes parts beside it",
           {std::string(kLoraPlace)},
           "frozen=none"}};
}

// On devices of clusters an adapter is priced as fused kernels execute it: the product by B scales
// its result and adds it to what it reads, and both products are issued with the layer that they
// adapt. Published runs take about as long as their base model would without gradients of its
// weights. A local run has a kernel for each op, and is priced by it.
void fuse_adapters(Body& body, const Layout&, const Scenario& scenario, const Params&) {
  if (is_local_core(scenario.cluster.device)) return;
  const Graph& graph = scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  for (std::vector<BodyOp>* ops : {&body.forward, &body.backward})
    for (BodyOp& op : *ops) {
      if (op.communication || !is_adapter(graph[op.node])) continue;
      if (graph[op.node].op != &matmul() && graph[op.node].op != &routed_matmul()) {
        op.work = {};
        continue;
      }
      op.work.kernel = -1;
      if (op.pass == Pass::Forward && begins_at_zero(graph, graph[op.node].inputs[1]))
        op.work.read += op.work.written;
    }
}

}  // namespace

Method lora() {
  return {
      .name = "lora",
      .axis = MethodAxis::Memory,
      .summary = "Freezes all weights and trains a narrow pair of matrices beside linear layers.",
      .paper = {"LoRA: Low-Rank Adaptation of Large Language Models", "Hu et al.", "ICLR", 2022},
      .card = {.gains = "no gradients, master copies or optimizer state of frozen weights: 2 bytes "
                        "a parameter instead of 16; no weight-gradient products, a third of the "
                        "FLOPs; r (in + out) parameters to reduce",
               .costs = "two narrow products, a scale and a sum per target; activations are kept "
                        "as before but for inputs of frozen products",
               .legal_when = "schedules that update once a step"},
      .file = "core/methods/trained/lora.cpp",
      .params = {{.name = "rank",
                  .fallback = std::int64_t{8},
                  .doc = "r: columns of A [in, r] and rows of B [r, out]",
                  .low = 1,
                  .high = 65536},
                 {.name = "alpha",
                  .fallback = std::int64_t{0},
                  .doc = "the adapter's output is scaled by alpha / rank; 0 = as the rank",
                  .low = 0,
                  .high = 1e6},
                 {.name = "targets",
                  .fallback = std::string("all-linear"),
                  .doc = "linear layers that get an adapter: attention, mlp, all-linear (all in "
                         "layers, none in the head), experts (the routed ones, each with its own) "
                         "or names such as q_proj,v_proj"}},
      .check = check_lora,
      .derive = adapt,
      .rewrite = fuse_adapters,
  };
}

}  // namespace trainyard
