// A batch norm normalises each channel by the mean and the variance that it has over some samples.
// Where a device has few of them (or one: images of segmentation are large), these are noise, and
// the loss of a large batch on many devices is not that of the same batch on one. Replicas may
// therefore average what each finds, in the middle of the norm:
//
//   forward    find mean, variance ── all-reduce, 2 numbers a channel ──▶ normalise
//   backward   find mean of dy, of dy (x - mean) ── all-reduce, 2 numbers a channel ──▶ dx
//
// Variances are joined with the distances of the replicas' means to the mean of all (Chan et al.),
// so that nothing cancels. Gradients of gain and bias are sums over a replica's own samples, as all
// gradients of weights are. Between its two parts the norm can keep nothing in a cache, so that it
// reads its input once more forward, and its input and the gradient once more backward.
//
// Messages are small and everything behind them waits for them: what they cost is their latency,
// twice a norm and microbatch.
//
// Ying et al., "Image Classification at Supercomputer Scale", arXiv 1811.06992, 2018; frameworks
// call it synchronised batch norm.
#include <string>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/norm_exchange.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/model/divided_rows.h"
#include "core/model/ops.h"
#include "core/plan/shared_statistics.h"

namespace trainyard {
namespace {

constexpr std::int64_t kBytesOfChannel = 8;  // two numbers of 4 bytes, whatever tensors are kept in

void exchange_in(std::vector<BodyOp>& ops, const Graph& graph, const Layout& layout, Group group,
                 std::string_view method) {
  std::vector<BodyOp> woven;
  for (BodyOp& op : ops) {
    if (!op.communication && op.node.valid() && graph[op.node].op == &batch_norm() &&
        op.pass != Pass::BackwardWeight) {
      const Node& norm = graph[op.node];
      const TensorId x = norm.inputs[0];
      if (is_context(group) && !has_part_of_rows(graph[x], layout.binding)) {
        woven.push_back(std::move(op));
        continue;
      }
      const bool forward = op.pass == Pass::Forward;
      BodyOp exchange = collective_op(
          method,
          (forward ? "average statistics of " : "average gradient along channels of ") + norm.name,
          op.node, op.pass, CollectiveKind::AllReduce, group,
          Bytes{kBytesOfChannel * local_elements({graph[x].shape[1]}, layout.binding)});
      exchange.tensor = x;
      woven.push_back(std::move(exchange));
      op.work.read += local_bytes(graph[x], layout.binding, layout.precision) * (forward ? 1 : 2);
    }
    woven.push_back(std::move(op));
  }
  ops = std::move(woven);
}

Diagnostics check_statistics(const Scenario& s, const Params& params) {
  Diagnostics found;
  const Plan& plan = s.plan;
  if (params.text(kStatisticsSamples) != kSamplesOfReplicas) return found;
  const Place place{"plan#/choices/batch-norm-statistics"};
  const auto add = [&](Diagnostic::Severity severity, std::string sentence, std::string fix) {
    found.push_back({severity, std::move(sentence), place, std::move(fix)});
  };
  const auto refuse = [&](std::string sentence, std::string fix) {
    add(Diagnostic::Severity::Error, std::move(sentence), std::move(fix));
  };
  if (samples_of_statistics(s.model, plan) == 0) {
    refuse("replicas share the statistics of batch norms, and " + s.model.name + " has none",
           "batch-norm=replica");
    return found;
  }
  if (synchrony_of(plan).relaxed())
    refuse("replicas that share statistics meet in every norm of every step, and those of sync=" +
               find_choice(plan, kSync)->params.text(kSyncKind) + " make steps of their own",
           "sync=bsp");
  if (combines_updates(plan))
    refuse("replicas that share statistics each find a part of one gradient, and reduce=" +
               find_choice(plan, kAdasum)->params.text(kReduce) +
               " combines gradients of their own",
           "reduce=mean");
  if (found.empty() && !shares_statistics(plan))
    add(Diagnostic::Severity::Warning,
        "replicas share the statistics of batch norms, and there is one: nothing changes",
        "batch-norm=replica");
  return found;
}

}  // namespace

void exchange_norm_statistics(Body& body, const Graph& graph, const Layout& layout, Group group,
                              std::string_view method) {
  exchange_in(body.forward, graph, layout, group, method);
  exchange_in(body.backward, graph, layout, group, method);
}

Method batch_norm_statistics() {
  return {
      .name = kBatchNormStatistics,
      .axis = MethodAxis::Sharding,
      .summary =
          "Batch norms normalise by the samples of all replicas, which average what each finds.",
      .paper = {"Image Classification at Supercomputer Scale", "Ying et al.", "arXiv 1811.06992",
                2018},
      .card = {.gains = "replicas of few samples train as one device does that has them all",
               .costs = "an all-reduce of 8 bytes a channel in each norm, forward and backward, "
                        "which everything behind it waits for; the norm reads its input twice",
               .legal_when = "the model has batch norms; replicas meet in every step "
                             "(sync=bsp) and take the mean or the sum of their gradients"},
      .file = "core/methods/parallel/batch_norm_statistics.cpp",
      .params = {{.name = kStatisticsSamples,
                  .fallback = std::string(kSamplesOfReplica),
                  .doc =
                      "whose samples of a microbatch a batch norm normalises by: a replica's own, "
                      "or those of all replicas",
                  .values = {kSamplesOfReplica, kSamplesOfReplicas}}},
      .check = check_statistics,
      .rewrite =
          [](Body& body, const Layout& layout, const Scenario& s, const Params&) {
            if (!shares_statistics(s.plan)) return;
            const Graph& graph = s.model.blocks[static_cast<std::size_t>(body.block)].graph;
            exchange_norm_statistics(body, graph, layout, Group::Data, kBatchNormStatistics);
          },
  };
}

}  // namespace trainyard
