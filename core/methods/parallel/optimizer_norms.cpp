// LARS and LAMB give every tensor a rate of its own, by the norm of its weights over that of its
// gradient (LARS) or of its Adam step (LAMB). The norms need a pass over all weights before the
// update. Replicas that each hold everything each find the same norms; where they share them,
// replica i finds those of layers i, i + P, i + 2P ... and all gather two numbers a tensor:
//
//   replicated   T(norms)
//   shared       T(norms) ceil(L/P)/L + an all-gather of 16 bytes a tensor: about T(norms)/P +
//                log2(P) alpha
//
// The pass reads what the update reads again: of LARS the weights and the gradient, of LAMB the
// weights and both moments, which every replica advances anyway. The all-gather is priced once a
// stage and update, after the update, where weights of ZeRO are gathered too; it lies between the
// two passes of the update, and takes as long there.
//
// Every norm is a sum over the whole tensor in one order, whoever computes it, so that the weights
// are those of replicated norms to the bit.
//
// Shi et al., "Towards Scalable Distributed Training of Deep Learning on Public Cloud Clusters",
// MLSys 2021, calls it parallel tensor operators (PTO).
#include "core/methods/parallel/optimizer_norms.h"

#include <fmt/format.h>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/whole_replicas.h"

namespace trainyard {
namespace {

constexpr std::string_view kReplicatedNorms = "replicated", kNormsParameter = "norms",
                           kSharedNorms = "shared", kNormsOp = "norms";
constexpr std::int64_t kNormsOfTensor = 16, kWide = 4;  // two doubles; a 4-byte number

bool has_norms(const Plan& plan) { return plan.optimizer == "lars" || plan.optimizer == "lamb"; }

std::int64_t replicas_with_norms(const Plan& plan) { return ranks(plan.mesh, Group::Data); }

// Returns of how many layers the replica with the most finds the norms.
std::int64_t layers_found(const Plan& plan, std::int64_t layers) {
  const std::int64_t p = shares_norms(plan) ? replicas_with_norms(plan) : 1;
  return (layers + p - 1) / p;
}

Diagnostics check_norms(const Scenario& s, const Params& params) {
  Diagnostics found;
  const Plan& plan = s.plan;
  if (params.text(kNormsParameter) != kSharedNorms) return found;
  const Place place{"plan#/choices/optimizer-norms"};
  const std::string word = "sharing norms";
  const auto refuse = [&](std::string sentence, std::string fix) {
    found.push_back({Diagnostic::Severity::Error, std::move(sentence), place, std::move(fix)});
  };
  if (!has_norms(plan)) {
    refuse(fmt::format("{} is for lars and lamb, which need some, and {} needs none", word,
                       plan.optimizer),
           "optimizer-norms=replicated");
    return found;
  }
  check_whole_replicas(plan,
                       {.word = word,
                        .tensors = "has each replica find norms of whole tensors",
                        .instead = "; optimizer-norms=replicated goes with them",
                        .state = "divides the norms of a state that every replica holds whole",
                        .device = "finds norms on the device",
                        .host = "has the host find them"},
                       place, found);
  const Method& schedule = schedule_of(plan);
  if (schedule.settles != nullptr || schedule.name == "tick-tock")
    refuse(fmt::format("{} needs all replicas at one update, and {} updates while microbatches are "
                       "under way",
                       word, schedule.name),
           "schedule=1f1b");
  if (combines_updates(plan))
    refuse(word +
               " divides norms that are equal on all replicas, and replicas that combine their "
               "updates have gradients of their own",
           "reduce=mean");
  if (compression_of(plan).how != Compress::None)
    refuse(word +
               " divides norms of gradients that are whole on all replicas, and compression "
               "leaves parts for later steps",
           "compression=none");
  if (found.empty() && replicas_with_norms(plan) == 1)
    found.push_back({Diagnostic::Severity::Warning,
                     word + " divides norms over replicas, and there is one: nothing changes",
                     place, "optimizer-norms=replicated"});
  return found;
}

}  // namespace

bool shares_norms(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kOptimizerNorms);
  return chosen != nullptr && chosen->params.has(kNormsParameter) &&
         chosen->params.text(kNormsParameter) == kSharedNorms && has_norms(plan) &&
         replicas_with_norms(plan) > 1;
}

void add_norms(Body& body, const Layout& layout, const Plan& plan, std::int64_t layers) {
  if (!has_norms(plan) || layout.host_optimizer || body.update.empty()) return;
  const Precision& precision = layout.precision;
  const std::int64_t n = updated_share(body, layout);
  const std::int64_t weights =
      precision.master_weights ? kWide : std::int64_t{bytes_of(precision.parameter)};
  const std::int64_t other =
      plan.optimizer == "lars" ? std::int64_t{bytes_of(precision.gradient)} : 2 * kWide;
  const std::int64_t found_here = layers_found(plan, layers);
  BodyOp op;
  op.name = kNormsOp;
  op.pass_name = "update_weights";
  op.work.kind = WorkKind::Optimizer;
  op.work.flops = Flops{4.0 * static_cast<double>(n * found_here) / static_cast<double>(layers)};
  op.work.read = Bytes{n * (weights + other) * found_here / layers};
  body.update.push_back(std::move(op));
}

const BodyOp* norms_op(const Body& body) {
  for (const BodyOp& op : body.update)
    if (op.name == kNormsOp) return &op;
  return nullptr;
}

double found_share(const Plan& plan, std::int64_t layers) {
  return static_cast<double>(layers_found(plan, layers)) / static_cast<double>(layers);
}

BodyOp norms_exchange(std::int64_t tensors) {
  return collective_op(kOptimizerNorms, "gather norms", NodeId{}, Pass::Forward,
                       CollectiveKind::AllGather, Group::Data, Bytes{kNormsOfTensor * tensors});
}

Method optimizer_norms() {
  return {
      .name = kOptimizerNorms,
      .axis = MethodAxis::Reduction,
      .summary =
          "Replicas share the norms that LARS and LAMB need: each finds those of some "
          "layers, and all gather them.",
      .paper = {"Towards Scalable Distributed Training of Deep Learning on Public Cloud Clusters",
                "Shi et al.", "MLSys", 2021},
      .card = {.gains = "the pass over the weights that finds norms takes 1/dp of its time",
               .costs = "an all-gather of 16 bytes a tensor with every update",
               .legal_when = "optimizer lars or lamb, updated once a step; tp, cp and ep are 1 and "
                             "every replica has the whole state on its device (zero=0)"},
      .file = "core/methods/parallel/optimizer_norms.cpp",
      .params = {{.name = kNormsParameter,
                  .fallback = std::string(kReplicatedNorms),
                  .doc = "every replica finds all norms, or a part of them that all then gather",
                  .values = {kReplicatedNorms, kSharedNorms}}},
      .check = check_norms,
  };
}

}  // namespace trainyard
