// Replicas send the largest elements of their gradients instead of all, and add what they have not
// sent to later ones (core/training/compression.h). Values and indices of all replicas are gathered
// by all, which add up equal indices in rank order and divide by the replicas.
//
//   topk     the k largest by size, of gradients that are added up
//   dgc      the same of velocities (momentum correction), whose momentum is forgotten where they
//            were sent (momentum factor masking); each replica clips each tensor's own gradient at
//            the run's threshold / sqrt(replicas) before it adds it up
//   mstopk   as topk, selected by passes that count instead of by sorting (MSTopK)
//   hitopk   replicas of a node add up whole gradients by a reduce-scatter; each selects of its
//            shard as mstopk does, like ranks of the nodes gather what was selected, and the node
//            gathers the shards (HiTopKComm). What was not sent waits with the owner of the shard
//
//   rank 0   [. 7 . .|. . 5 .] -> (1: 7) (6: 5)     all ranks:  [. 9 . .|. . 5 3] / 2
//   rank 1   [. 2 . .|. . . 3] -> (1: 2) (7: 3)
//
// Tensors of one dimension (biases, norms) stay dense. Weight decay that a rule adds to the
// gradient goes in before gradients are added up, as what waits would otherwise decay late.
//
// Priced are an all-gather of 8 bytes for each sent element of each replica, (P - 1) k 8 bytes for
// each of P ranks where a ring all-reduce takes 2 (P - 1) / P of the whole gradient; the all-reduce
// of what stays dense; and the passes over memory, as work of the update: adding up, selecting
// (top-k by radix: 4 passes to find the threshold; MSTopK: 1 pass for mean and maximum, 1 that
// counts above the mean, 30 of bisection), packing and adding up what came. DGC's sampled threshold
// is an estimate of the exact one; what is executed and priced is the exact selection. Under hitopk
// the passes are over a shard, and the messages are a reduce-scatter and an all-gather inside the
// node and an all-gather of (m - 1) 8 bytes an element that is sent between m nodes.
//
// Lin et al., "Deep Gradient Compression", ICLR 2018; Shi et al., MLSys 2021 (MSTopK).
#include "core/methods/parallel/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/whole_replicas.h"
#include "core/model/trained_parts.h"
#include "core/plan/batch_ramp.h"
#include "core/plan/parallelism.h"

namespace trainyard {
namespace {

constexpr std::string_view kCompressionWords[] = {kNoCompression, "dgc", "topk", "mstopk",
                                                  "hitopk"};
constexpr std::int64_t kNumber = 4;  // bytes of a residual and of a velocity
constexpr std::int64_t kRadixPasses = 4;

std::int64_t compressing_replicas(const Plan& plan) { return ranks(plan.mesh, Group::Data); }

// Returns the work of the device for a layer, or a shard of it, of which so many send a part.
Work compressing_work(const CompressedLayer& layer, const Compression& how, std::int64_t senders,
                      const Layout& layout) {
  const std::int64_t n = layer.compressed, all = layer.sent * senders,
                     gradient = bytes_of(layout.precision.gradient);
  const bool dgc = how.how == Compress::Dgc;
  const std::int64_t passes = how.how >= Compress::MsTopK ? 2 + kBisectionRounds : kRadixPasses;
  Work work;
  work.kind = WorkKind::Optimizer;
  // Adding up reads the gradient, and reads and writes what has not been sent, and the velocity.
  work.read = Bytes{n * (gradient + kNumber * (dgc ? 2 : 1))};
  work.written = Bytes{n * kNumber * (dgc ? 2 : 1)};
  // Selecting reads all in each pass, and once more to pack what is sent.
  work.read += Bytes{n * kNumber * (passes + 1)};
  work.written += Bytes{layer.sent * (kSentBytes + kNumber * (dgc ? 2 : 1))};
  // The gradient is cleared, and what came is added to it.
  work.read += Bytes{all * (kSentBytes + gradient)};
  work.written += Bytes{(n + all) * gradient};
  work.flops = Flops{static_cast<double>(n * (passes + (dgc ? 3 : 1)) + all)};
  return work;
}

void rewrite_compression(Body& body, const Layout& layout, const Scenario& scenario,
                         const Params&) {
  const Plan& plan = scenario.plan;
  const Compression how = compression_of(plan);
  if (how.how == Compress::None) return;
  std::erase_if(body.reduce, [](const BodyOp& op) {
    return op.group == Group::Data || op.group == Group::ExpertData;
  });
  CompressedLayer layer = compressed_layer(body, scenario.model, layout, how.ratio);
  const auto exchange = [&](CollectiveKind kind, const char* name, Group group, Bytes bytes) {
    if (bytes.value > 0)
      body.reduce.push_back(
          collective_op(kCompression, name, NodeId{}, Pass::BackwardWeight, kind, group, bytes));
  };
  exchange(CollectiveKind::AllReduce, "reduce gradients of biases and norms", Group::Data,
           gradient_bytes(layer.whole, layout));
  std::int64_t senders = compressing_replicas(plan);
  if (how.how != Compress::HiTopK) {
    exchange(CollectiveKind::AllGather, "gather the largest gradients", Group::Data,
             Bytes{senders * layer.sent * kSentBytes});
  } else {
    const std::int64_t dividing = dividing_replicas(plan, scenario.cluster);
    const Bytes whole = gradient_bytes(layer.compressed, layout);
    senders /= dividing;
    layer.sent = shard_elements_sent(layer, dividing, how.ratio);
    layer.compressed = (layer.compressed + dividing - 1) / dividing;
    exchange(CollectiveKind::ReduceScatter, "scatter gradients in the node", Group::Shard, whole);
    exchange(CollectiveKind::AllGather, "gather the largest gradients between nodes",
             Group::Replica, Bytes{senders * layer.sent * kSentBytes});
    exchange(CollectiveKind::AllGather, "gather gradients in the node", Group::Shard, whole);
  }
  if (layer.compressed == 0) return;
  BodyOp op;
  op.name = "compress gradients";
  op.pass_name = kCompression;
  op.work = compressing_work(layer, how, senders, layout);
  body.update.push_back(std::move(op));
}

// Memory holds what has not been sent; dgc's velocity is the optimizer's own.
void arrange_compression(Layout& layout, const Scenario& scenario, const Params&) {
  const Compression how = compression_of(scenario.plan);
  if (how.how != Compress::None) layout.optimizer_bytes += kNumber;
  if (how.how == Compress::HiTopK)
    layout.shard_group = dividing_replicas(scenario.plan, scenario.cluster);
}

template <class F>
void check_exchange(const Scenario& s, const std::string& word, F&& refuse) {
  const Plan& plan = s.plan;
  const std::int64_t all = compressing_replicas(plan), node = dividing_replicas(plan, s.cluster);
  if (word == "hitopk" && all > 1 && (node == 1 || node == all || all % node != 0))
    refuse(fmt::format("hitopk adds up gradients inside nodes and compresses them between, so that "
                       "each of several nodes has equally many replicas, at least 2; found {} of "
                       "dp={} in a node",
                       node, all),
           "compression=mstopk");
  if (reduce_of(plan) >= Reduce::Adasum)
    refuse(fmt::format("{} sends parts of gradients, and reduce={} combines whole updates", word,
                       find_choice(plan, kAdasum)->params.text(kReduce)),
           "reduce=mean");
}

template <class F>
void check_step(const Scenario& s, const std::string& word, F&& refuse) {
  const Plan& plan = s.plan;
  const Method& schedule = schedule_of(plan);
  if (schedule.settles != nullptr || schedule.name == "tick-tock")
    refuse(fmt::format("{} compresses the gradients of one step, and {} updates while microbatches "
                       "are under way",
                       word, schedule.name),
           "schedule=1f1b");
  else if (copies(schedule.placement) > 1)
    refuse(fmt::format("{} compresses a gradient that a replica has in full, and {} adds up those "
                       "of two copies of a stage",
                       word, schedule.name),
           "schedule=1f1b");
  if (batch_ramp_of(plan))
    refuse(fmt::format("{} adds up gradients of steps of one batch, and batch-ramp lets it grow",
                       word),
           "batch-ramp=off");
  const Choice& precision = *chosen_on(plan, MethodAxis::Precision);
  if (precision.method.starts_with("bf16-"))
    refuse(fmt::format("{} adds up in 4 bytes, and {} keeps optimizer state in bf16 alone", word,
                       precision.method),
           "precision=bf16");
  if (precision.method == "fp16")
    refuse(fmt::format("{} adds up gradients of several steps, and fp16 scales the loss of each "
                       "otherwise",
                       word),
           "precision=bf16");
  if (precision.params.has("weights") && precision.params.text("weights") != "bf16")
    refuse(fmt::format("{} adds the decay of weights to gradients, and {}.weights={} keeps weights "
                       "as codes",
                       word, precision.method, precision.params.text("weights")),
           fmt::format("{}.weights=bf16", precision.method));
}

Diagnostics check_compression(const Scenario& s, const Params& params) {
  Diagnostics found;
  const Plan& plan = s.plan;
  const std::string& word = params.text(kCompressionKind);
  const Place place{"plan#/choices/compression"};
  const auto add = [&](Diagnostic::Severity severity, std::string sentence, std::string fix) {
    found.push_back({severity, std::move(sentence), place, std::move(fix)});
  };
  const auto refuse = [&](std::string sentence, std::string fix) {
    add(Diagnostic::Severity::Error, std::move(sentence), std::move(fix));
  };
  if (word == kNoCompression) {
    add(Diagnostic::Severity::Warning,
        "the plan says how gradients are compressed, and compression=none sends them whole: "
        "nothing changes",
        "compression=topk");
    return found;
  }
  // Refusals do not depend on the number of replicas: a search asks once for plans that differ in
  // it.
  if (compressing_replicas(plan) == 1)
    add(Diagnostic::Severity::Warning,
        word + " compresses what replicas send, and there is one: nothing changes",
        "compression=none");
  check_whole_replicas(
      plan,
      {.word = word,
       .tensors = "selects the largest elements of whole tensors of each replica",
       .instead = "",
       .state = "adds up what a replica has not sent of its whole gradient",
       .device = "keeps what it has not sent beside the optimizer's state on the device",
       .host = "has the host keep that"},
      place, found);
  check_exchange(s, word, refuse);
  check_step(s, word, refuse);
  if (word == "dgc" && plan.optimizer != "sgd" && plan.optimizer != "momentum")
    refuse(fmt::format("dgc adds up velocities of gradient descent, found optimizer={}; topk and "
                       "mstopk go with every optimizer",
                       plan.optimizer),
           "compression=topk");
  return found;
}

}  // namespace

Compression compression_of(const Plan& plan) {
  Compression made;
  const Choice* const chosen = find_choice(plan, kCompression);
  if (chosen == nullptr || compressing_replicas(plan) == 1) return made;
  const Params params = with_defaults(chosen->params, method(kCompression).params);
  const auto* const word = std::find(std::begin(kCompressionWords), std::end(kCompressionWords),
                                     std::string_view(params.text(kCompressionKind)));
  made.how = static_cast<Compress>(word - std::begin(kCompressionWords));
  made.ratio = params.number("ratio");
  made.warmup = params.integer("warmup");
  made.residuals = params.flag("residuals");
  made.masking = params.flag("masking");
  return made;
}

std::int64_t sent_elements(std::int64_t elements, double ratio) {
  if (elements == 0) return 0;
  // A product such as 0.07 x 100 is a little above its whole number.
  const double exact = ratio * static_cast<double>(elements);
  return std::clamp(static_cast<std::int64_t>(std::ceil(exact * (1 - 1e-12))), std::int64_t{1},
                    elements);
}

CompressedLayer compressed_layer(const Body& body, const Model& model, const Layout& layout,
                                 double ratio) {
  const Graph& graph = model.blocks[static_cast<std::size_t>(body.block)].graph;
  const std::vector<bool> frozen = frozen_parameters(graph);
  CompressedLayer found;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.kind != TensorKind::Parameter || frozen[t] ||
        (!tensor.tied_to.empty() && !layout.tied_copies))
      continue;
    const std::int64_t elements = local_elements(tensor.shape, layout.binding);
    if (tensor.shape.size() > 1) {
      found.compressed += elements;
      found.sent += sent_elements(elements, ratio);
    } else {
      found.whole += elements;
    }
  }
  return found;
}

double break_even_ranks(double dense_bytes, double sent_bytes) {
  return sent_bytes > 0 ? 2 * dense_bytes / sent_bytes : 0;
}

std::int64_t dividing_replicas(const Plan& plan, const Cluster& cluster) {
  if (compression_of(plan).how != Compress::HiTopK) return 1;
  return std::min(compressing_replicas(plan),
                  group_shape(plan.mesh, Group::Data, cluster).per_node);
}

std::int64_t shard_elements_sent(const CompressedLayer& layer, std::int64_t dividing,
                                 double ratio) {
  return sent_elements((layer.compressed + dividing - 1) / dividing, ratio);
}

Bytes arriving_bytes(const Plan& plan, const Cluster& cluster, std::int64_t parameters) {
  const Compression how = compression_of(plan);
  if (how.how == Compress::None) return {};
  const std::int64_t dividing = dividing_replicas(plan, cluster);
  return Bytes{compressing_replicas(plan) / dividing *
               sent_elements((parameters + dividing - 1) / dividing, how.ratio) * kSentBytes};
}

Method compression() {
  return {
      .name = kCompression,
      .axis = MethodAxis::Reduction,
      .summary =
          "Replicas send the largest elements of their gradients and keep the rest for "
          "later steps.",
      .paper = {"Deep Gradient Compression", "Lin et al.", "ICLR", 2018},
      .card = {.gains = "a step sends ratio x 8 bytes a parameter and replica instead of the whole "
                        "gradient: less while the replicas are fewer than about 1 / ratio",
               .costs = "4 bytes a parameter for what has not been sent, passes over the gradient "
                        "to select (4 to 32), and gradients that come late",
               .legal_when = "tp, cp and ep are 1; every replica has the whole state on its device "
                             "(zero=0) and updates once a step; dgc: optimizer sgd or momentum"},
      .file = "core/methods/parallel/compression.cpp",
      .params = {{.name = kCompressionKind,
                  .fallback = std::string(kNoCompression),
                  .doc =
                      "what replicas send of their gradients: all (none), the largest velocities "
                      "(dgc), the largest gradients (topk), these found by counting (mstopk), or "
                      "these of a node's sum between nodes (hitopk)",
                  .values = {std::begin(kCompressionWords), std::end(kCompressionWords)}},
                 {.name = "ratio",
                  .fallback = 0.001,
                  .doc = "share of a tensor's elements that a replica sends in a step",
                  .low = 1e-9,
                  .high = 1},
                 {.name = "warmup",
                  .fallback = std::int64_t{0},
                  .doc = "steps over which the share falls exponentially from 1 to the ratio; the "
                         "simulator prices a step after them",
                  .low = 0,
                  .high = 1e12},
                 {.name = "residuals",
                  .fallback = true,
                  .doc = "add what was not sent to later gradients; off: it is lost"},
                 {.name = "masking",
                  .fallback = true,
                  .doc = "dgc: forget the momentum of what was sent"}},
      .check = check_compression,
      .arrange = arrange_compression,
      .rewrite = rewrite_compression,
  };
}

}  // namespace trainyard
