// Adasum combines what data-parallel replicas found so that the rate need not follow their number.
// The mean of P gradients needs a rate P times as high; their sum overshoots once they point the
// same way. Adasum adds orthogonal updates and averages equal ones, tensor by tensor
// (core/training/adasum.h), and combines P of them in a tree.
//
//   mean          the all-reduce of data-parallel, divided by the replicas
//   sum           the same, not divided
//   adasum        vector halving, distance doubling: neighbours exchange halves of a vector, each
//                 combines one half, and so on at twice the distance; the three sums that a
//                 tensor's pair needs are added up over the ranks that have parts of the pair. Then
//                 the way back: an all-gather by distance halving
//   adasum-tree   all ranks gather all vectors and evaluate the tree over whole tensors
//   adasum-hierarchical    the same messages as adasum; replicas of one node take the mean (a
//                 reduce-scatter), and Adasum combines nodes
//
//   rank 0  [a a a a]   half of 0+1: [x x . .]   quarter of all: [x . . .]   gathered: [x x x x]
//   rank 1  [b b b b]                [. . x x]                   [. . x .]             [x x x x]
//   rank 2  [c c c c]   half of 2+3: [x x . .]                   [. x . .]             [x x x x]
//   rank 3  [d d d d]                [. . x x]                   [. . . x]             [x x x x]
//
// It is updates that are combined, not gradients: each replica clips its own mean gradient by its
// own norm, makes its optimizer's step with its own moments, and the change of its weights is what
// goes into the tree, as in Horovod. For plain gradient descent this is Adasum of the gradients,
// because the operator is homogeneous: Adasum(-r a, -r b) = -r Adasum(a, b). ZeRO contradicts it:
// there a replica updates only its share of the weights, by gradients that are combined before, so
// that no replica has a step of its own; and plain descent has no state that ZeRO 1 could divide.
//
// Messages are priced as collectives over the replicas: a reduce-scatter and an all-gather of
// 4-byte updates, and an all-reduce of 3 doubles a tensor for each level of the tree that Adasum
// combines. Each is priced over all replicas, where the lower levels have fewer: an upper bound by
// a few latencies. They follow the update, as weights of ZeRO do, and nothing hides them. The
// passes of the device (weights kept, differences, dot products, sums) are work of the update.
//
// Maleki et al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021.
#include "core/methods/parallel/adasum.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/whole_replicas.h"

namespace trainyard {
namespace {

constexpr std::string_view kReduceWords[] = {kMeanWord, "sum", "adasum", "adasum-tree",
                                             "adasum-hierarchical"};
constexpr std::int64_t kFloat = 4, kDots = 24;  // bytes of a number, and of a tensor's three
                                                // sums

std::int64_t replicas_of(const Plan& plan) { return ranks(plan.mesh, Group::Data); }

bool is_power_of_two(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }

std::int64_t levels(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n)) - 1; }

// Returns the work of the device for a layer: what it keeps and restores around the update, and
// what the tree computes.
Work combining_work(std::int64_t n, const Plan& plan, const Cluster& cluster,
                    const Layout& layout) {
  const std::int64_t p = replicas_of(plan), averaged = mean_ranks(plan, cluster);
  // A copy is kept before the update; after it, the difference and the copy change places; at the
  // end the combined difference is added.
  std::int64_t read = 5 * kFloat * n, written = 5 * kFloat * n, added = 0, dotted = 0;
  if (layout.precision.master_weights) written += bytes_of(layout.precision.parameter) * n;
  if (reduce_of(plan) == Reduce::AdasumTree) {
    added = dotted = (p - 1) * n;
  } else {
    added = n - n / p;
    dotted = n / averaged - n / p;
  }
  read += 2 * kFloat * (added + dotted), written += kFloat * added;
  Work work;
  work.kind = WorkKind::Optimizer;
  work.flops = Flops{static_cast<double>(3 * n + 3 * added + 6 * dotted)};
  work.read = Bytes{read}, work.written = Bytes{written};
  return work;
}

void rewrite_adasum(Body& body, const Layout& layout, const Scenario& scenario, const Params&) {
  const Plan& plan = scenario.plan;
  if (!combines_updates(plan)) return;
  std::erase_if(body.reduce, [](const BodyOp& op) {
    return op.group == Group::Data || op.group == Group::ExpertData;
  });
  const std::int64_t n = body.parameters.dense + body.parameters.expert, p = replicas_of(plan);
  if (n == 0) return;
  const auto exchange = [&](CollectiveKind kind, const char* name, std::int64_t bytes) {
    body.gather.push_back(
        collective_op(kAdasum, name, NodeId{}, Pass::Forward, kind, Group::Data, Bytes{bytes}));
  };
  if (reduce_of(plan) == Reduce::AdasumTree) {
    exchange(CollectiveKind::AllGather, "gather updates of all ranks", p * n * kFloat);
  } else {
    exchange(CollectiveKind::ReduceScatter, "combine halves of updates", n * kFloat);
    const std::int64_t first = mean_ranks(plan, scenario.cluster);
    for (std::int64_t level = levels(first); level < levels(p); ++level)
      exchange(CollectiveKind::AllReduce, "add up products of updates",
               kDots * trained_tensors(body, scenario.model, layout));
    exchange(CollectiveKind::AllGather, "gather combined updates", n * kFloat);
  }
  BodyOp op;
  op.name = "combine updates";
  op.pass_name = kAdasum;
  op.work = combining_work(n, plan, scenario.cluster, layout);
  body.update.push_back(std::move(op));
}

// The weights from before the update wait in memory for the differences.
void arrange_adasum(Layout& layout, const Scenario& scenario, const Params&) {
  if (combines_updates(scenario.plan)) layout.optimizer_bytes += kFloat;
}

// Returns the power of two that is nearest below.
std::int64_t lower_power(std::int64_t n) { return std::int64_t{1} << levels(n); }

void check_ranks(const Scenario& s, const std::string& word, const Place& place,
                 Diagnostics& found) {
  const Plan& plan = s.plan;
  const std::int64_t p = replicas_of(plan);
  const auto refuse = [&](std::string sentence, std::string fix) {
    found.push_back({Diagnostic::Severity::Error, std::move(sentence), place, std::move(fix)});
  };
  if (!is_power_of_two(p))
    return refuse(fmt::format("{} combines ranks in pairs, so that their number is a power of two, "
                              "found dp={}; the nearest are {} and {}",
                              word, p, lower_power(p), 2 * lower_power(p)),
                  "reduce=mean");
  if (reduce_of(plan) != Reduce::AdasumHierarchical) return;
  const std::int64_t node = mean_ranks(plan, s.cluster);
  if (!is_power_of_two(node) || p % node != 0)
    return refuse(fmt::format("{} takes the mean of equally many replicas in each node, a power of "
                              "two, found {} of dp={} in a node",
                              word, node, p),
                  "reduce=adasum");
  if (node != p) return;
  found.push_back({Diagnostic::Severity::Warning,
                   fmt::format("{} takes the mean inside a node, and one node has all {} replicas: "
                               "no update is combined by Adasum",
                               word, p),
                   place, "reduce=adasum"});
}

Diagnostics check_adasum(const Scenario& s, const Params& params) {
  Diagnostics found;
  const Plan& plan = s.plan;
  const std::string& word = params.text(kReduce);
  const Place place{"plan#/choices/adasum"};
  const auto refuse = [&](std::string sentence, std::string fix) {
    found.push_back({Diagnostic::Severity::Error, std::move(sentence), place, std::move(fix)});
  };
  if (word != kMeanWord && replicas_of(plan) == 1)
    found.push_back({Diagnostic::Severity::Warning,
                     word + " combines what replicas found, and there is one: nothing changes",
                     place, "reduce=mean"});
  if (!combines_updates(plan)) return found;
  check_whole_replicas(
      plan,
      {.word = word,
       .tensors = "needs products over whole tensors of each replica",
       .instead = "; reduce=sum and reduce=mean go with them",
       .state = "combines the steps of replicas that each have their own optimizer "
                "state",
       .device = "compares weights before and after an update on the device",
       .host = "has the host update them",
       .divided = "has each update only its share of the weights, by gradients that are combined "
                  "already: no replica has a step of its own"},
      place, found);
  const Method& schedule = schedule_of(plan);
  if (schedule.settles != nullptr || schedule.name == "tick-tock")
    refuse(fmt::format("{} combines the updates of one step of all replicas, and {} updates while "
                       "microbatches are under way",
                       word, schedule.name),
           "schedule=1f1b");
  const Choice& precision = *chosen_on(plan, MethodAxis::Precision);
  if (precision.method.starts_with("bf16-"))
    refuse(fmt::format("{} takes differences of weights in 4 bytes, and {} keeps weights in bf16 "
                       "alone",
                       word, precision.method),
           "precision=bf16");
  if (precision.params.has("weights") && precision.params.text("weights") != "bf16")
    refuse(fmt::format("{} writes weights again after it has combined updates, and {}.weights={} "
                       "has agreed on their scales before",
                       word, precision.method, precision.params.text("weights")),
           fmt::format("{}.weights=bf16", precision.method));
  check_ranks(s, word, place, found);
  return found;
}

}  // namespace

Reduce reduce_of(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kAdasum);
  if (chosen == nullptr || !chosen->params.has(kReduce)) return Reduce::Mean;
  const auto* const word = std::find(std::begin(kReduceWords), std::end(kReduceWords),
                                     std::string_view(chosen->params.text(kReduce)));
  return static_cast<Reduce>(word - std::begin(kReduceWords));
}

bool combines_updates(const Plan& plan) {
  return reduce_of(plan) >= Reduce::Adasum && replicas_of(plan) > 1;
}

std::int64_t mean_ranks(const Plan& plan, const Cluster& cluster) {
  if (reduce_of(plan) != Reduce::AdasumHierarchical) return 1;
  return std::min(replicas_of(plan), group_shape(plan.mesh, Group::Data, cluster).per_node);
}

std::int64_t combined_updates(const Plan& plan, const Cluster& cluster) {
  return combines_updates(plan) ? replicas_of(plan) / mean_ranks(plan, cluster) : 1;
}

Bytes combining_bytes(const Plan& plan, std::int64_t parameters) {
  if (!combines_updates(plan)) return {};
  return Bytes{reduce_of(plan) == Reduce::AdasumTree ? replicas_of(plan) * parameters * kFloat
                                                     : (parameters + 1) / 2 * kFloat};
}

Method adasum() {
  return {
      .name = kAdasum,
      .axis = MethodAxis::Reduction,
      .summary =
          "Combines the updates of replicas: orthogonal ones are added, equal ones averaged.",
      .paper = {"Scaling Distributed Training with Adaptive Summation", "Maleki et al.", "MLSys",
                2021},
      .card = {.gains = "the rate of one replica serves many; a range of rates several times as "
                        "wide as the sum's",
               .costs =
                   "4 bytes a parameter for the weights from before an update, an exchange of "
                   "updates that nothing hides, three sums a tensor and level, and passes over "
                   "the updates",
               .legal_when = "dp is a power of two; tp, cp and ep are 1; every replica has its own "
                             "optimizer state on its device (zero=0) and updates once a step"},
      .file = "core/methods/parallel/adasum.cpp",
      .params = {{.name = kReduce,
                  .fallback = std::string(kMeanWord),
                  .doc = "how replicas' steps become one: the mean or the sum of gradients, or "
                         "Adasum of updates by halves (adasum), over whole tensors (adasum-tree), "
                         "or between nodes that take the mean inside (adasum-hierarchical)",
                  .values = {std::begin(kReduceWords), std::end(kReduceWords)}}},
      .check = check_adasum,
      .arrange = arrange_adasum,
      .rewrite = rewrite_adasum,
  };
}

}  // namespace trainyard
