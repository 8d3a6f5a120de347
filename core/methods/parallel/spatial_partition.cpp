// Spatial partition divides the rows of every image over the ranks of cp, for images of which a
// device cannot hold one, or where the batch is as small as it may be and devices are left.
//
//   rank 0   rows 0-3   convolve with row 4 of rank 1 ──┐        each pass sends rows over each cut
//   rank 1   rows 4-7   convolve with row 3 of rank 0 ──┴─ mean of all ─ head, the same on all
//
// A convolution of k rows reads k / 2 rows of each neighbour: they are exchanged before it, and
// backward each rank gives the gradients of its neighbours' rows back, which add them to their own.
// Batch norms average the statistics of all ranks, and so does the pooling at the end. Where rows
// no longer divide, ranks join theirs before that. From there on all compute with the same numbers.
// As of a sequence, gradients of weights are sums over ranks of cp and data.
//
// Kumar et al., "Exploring the Limits of Concurrency in ML Training on Google TPUs", MLSys 2021.
#include <string>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/norm_exchange.h"
#include "core/model/divided_rows.h"
#include "core/model/ops.h"
#include "core/plan/shared_statistics.h"
#include "core/plan/spatial_partition.h"

namespace trainyard {
namespace {

constexpr std::size_t kRowsOfImage = 2;

// Returns the bytes that a rank sends to its neighbours. A rank at the edge of the image has one
// neighbour, and where there are two ranks both are at an edge.
Bytes halo_bytes(const Graph& graph, const Node& halo, const Layout& layout) {
  const std::int64_t above = attribute(halo, "above"), below = attribute(halo, "below");
  const Tensor& image = graph[halo.outputs[0]];
  const Bytes all = local_bytes(image, layout.binding, layout.precision);
  const Bytes row{all.value / local_size(image.shape[kRowsOfImage], layout.binding)};
  return row * (layout.binding.cp > 2 ? above + below : std::max(above, below));
}

// Adds the exchange around every op whose windows reach beyond a part, or whose window is the whole
// image.
void exchange_rows(std::vector<BodyOp>& ops, const Graph& graph, const Layout& layout,
                   bool forward) {
  std::vector<BodyOp> woven;
  for (BodyOp& op : ops) {
    const Node* const node = op.communication || !op.node.valid() || op.pass == Pass::BackwardWeight
                                 ? nullptr
                                 : &graph[op.node];
    const bool rows = node != nullptr && node->op == &halo_rows(),
               all = rows && attribute(*node, "all") != 0, halo = rows && !all,
               mean = node != nullptr && node->op == &pooling() &&
                      attribute(*node, "kernel") == 0 &&
                      has_part_of_rows(graph[node->inputs[0]], layout.binding);
    if (!rows && !mean) {
      woven.push_back(std::move(op));
      continue;
    }
    const TensorId out = node->outputs[0];
    BodyOp exchange = collective_op(
        kSpatialPartition,
        halo ? (forward ? "exchange rows around " : "give back gradients of rows around ") +
                   graph[node->inputs[0]].name
        : all ? (forward ? "join rows of " : "add up gradients of ") + graph[node->inputs[0]].name
              : (forward ? "add up " : "add up gradients of ") + node->name,
        op.node, op.pass, halo ? CollectiveKind::HaloExchange : CollectiveKind::AllReduce,
        Group::Context,
        halo ? halo_bytes(graph, *node, layout)
             : local_bytes(graph[out], layout.binding, layout.precision));
    exchange.tensor = out;
    exchange.of_gradient = !forward;
    if (!forward) woven.push_back(exchange);
    woven.push_back(std::move(op));
    if (forward) woven.push_back(std::move(exchange));
  }
  ops = std::move(woven);
}

Diagnostics check_spatial_partition(const Scenario& s, const Params&) {
  const int ranks = s.plan.mesh.cp;
  if (ranks == 1) return {};
  const Model whole = with_whole_rows(s.model);
  const std::string why = undivided_rows(whole, ranks);
  if (why.empty()) return {};
  int most = ranks;
  while (most > 1 && !undivided_rows(whole, most).empty()) --most;
  return {{Diagnostic::Severity::Error, why, {"plan#/mesh/cp"}, "cp=" + std::to_string(most)}};
}

}  // namespace

Method spatial_partition() {
  return {
      .name = kSpatialPartition,
      .axis = MethodAxis::Sharding,
      .summary = "Divides the rows of images over cp ranks, which exchange those at the cuts.",
      .paper = {"Exploring the Limits of Concurrency in ML Training on Google TPUs", "Kumar et al.",
                "MLSys", 2021},
      .card = {.gains = "activations of an image divided by cp, and more devices at one batch",
               .costs = "k / 2 rows over each cut before a convolution of k rows and again "
                        "backward, a copy of the image with them, an all-reduce in every batch "
                        "norm; the head is computed by every rank",
               .legal_when =
                   "cp divides the rows of images; layers whose own do not divide, or whose "
                   "windows reach beyond a neighbour, are computed whole by every rank, "
                   "and so is all behind them"},
      .file = "core/methods/parallel/spatial_partition.cpp",
      .check = check_spatial_partition,
      .arrange = [](Layout& layout, const Scenario& s,
                    const Params&) { layout.binding.cp = s.plan.mesh.cp; },
      .rewrite =
          [](Body& body, const Layout& layout, const Scenario& s, const Params&) {
            if (layout.binding.cp == 1) return;
            const Graph& graph = s.model.blocks[static_cast<std::size_t>(body.block)].graph;
            exchange_rows(body.forward, graph, layout, true);
            exchange_rows(body.backward, graph, layout, false);
            // Replicas that share statistics are all ranks of cp and data.
            if (shares_statistics(s.plan)) return;
            exchange_norm_statistics(body, graph, layout, Group::Context, kSpatialPartition);
          },
  };
}

}  // namespace trainyard
