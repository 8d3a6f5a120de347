#include "core/result/gradient_traffic.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/lowering/workload.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/plan/parallelism.h"

namespace trainyard {

namespace {

// A ring all-reduce passes 2 (P - 1) / P of what is summed through each rank.
Bytes ring(Bytes summed, std::int64_t ranks) {
  return Bytes{2 * summed.value * (ranks - 1) / ranks};
}

std::optional<GradientTraffic> relaxed_traffic(const Workload& w, const Synchrony& sync) {
  std::int64_t parameters = 0;
  for (const std::vector<Workload::Run>& stage : w.runs)
    for (const Workload::Run& run : stage) {
      const LocalParameters& p = w.bodies[static_cast<std::size_t>(run.body)].parameters;
      parameters += (p.dense + p.expert) * run.count;
    }
  GradientTraffic found;
  found.dense = ring(gradient_bytes(parameters, w.layout), sync.replicas);
  const Bytes met = ring(Bytes{parameters * exchanged_bytes(sync, w.layout)}, sync.replicas);
  found.received = Bytes{met.value / sync.period};
  // An all-to-all there and one back pass as much as the two halves of a ring do.
  found.sentence = fmt::format(
      "a replica receives {} of weights{} once in {} steps, {} a step, {} of what gradients in "
      "every one would be",
      readable(met), sync.averages_state ? " and optimizer state" : "", sync.period,
      readable(found.received),
      readable_share(static_cast<double>(found.received.value) /
                     static_cast<double>(std::max<std::int64_t>(1, found.dense.value))));
  if (sync.how == Sync::Easgd)
    found.sentence += fmt::format(
        "; each exchange leaves {:.3g} of the distance from their mean to the centre (stable below "
        "an elasticity of {:.4g})",
        1 - sync.elasticity * static_cast<double>(sync.replicas + 1) /
                static_cast<double>(sync.replicas),
        elasticity_limit(sync.replicas));
  if (sync.served())
    found.sentence += fmt::format(
        "; the server has taken {} other changes on average since a replica fetched its weights{}",
        sync.replicas - 1, sync.divides ? ", by which it divides the replica's" : "");
  return found;
}

}  // namespace

std::optional<GradientTraffic> gradient_traffic(const Workload& w) {
  const Scenario& s = w.scenario;
  if (const Synchrony sync = synchrony_of(s.plan); sync.relaxed()) return relaxed_traffic(w, sync);
  const Compression how = compression_of(s.plan);
  if (how.how == Compress::None) return std::nullopt;
  const std::int64_t dividing = dividing_replicas(s.plan, s.cluster);
  CompressedLayer sum;
  for (const std::vector<Workload::Run>& stage : w.runs)
    for (const Workload::Run& run : stage) {
      const CompressedLayer layer = compressed_layer(w.bodies[static_cast<std::size_t>(run.body)],
                                                     s.model, w.layout, how.ratio);
      sum.whole += layer.whole * run.count, sum.compressed += layer.compressed * run.count;
      sum.sent +=
          run.count * (how.how == Compress::HiTopK ? shard_elements_sent(layer, dividing, how.ratio)
                                                   : layer.sent);
    }
  const auto reduced = [&](std::int64_t elements, std::int64_t of) {
    return ring(gradient_bytes(elements, w.layout), of);
  };
  const std::int64_t p = ranks(s.plan.mesh, Group::Data), senders = p / dividing;
  const Bytes selected{(senders - 1) * sum.sent * kSentBytes};
  GradientTraffic found;
  found.dense = reduced(sum.whole + sum.compressed, p);
  found.received = reduced(sum.whole, p) + reduced(sum.compressed, dividing) + selected;
  // Between nodes, a shard is exchanged, and as many nodes are equal times so many replicas.
  const Bytes shard = gradient_bytes(sum.compressed / dividing, w.layout);
  found.break_even_ranks =
      static_cast<double>(dividing) * break_even_ranks(static_cast<double>(shard.value),
                                                       static_cast<double>(sum.sent * kSentBytes));
  found.sentence = fmt::format(
      "a replica receives {} of gradients a step{}, {} of what whole ones would be; {} {:.0f} "
      "replicas both are equal{}",
      readable(found.received),
      dividing > 1 ? fmt::format(", {} of them from other nodes", readable(selected)) : "",
      readable_share(static_cast<double>(found.received.value) /
                     static_cast<double>(std::max<std::int64_t>(1, found.dense.value))),
      dividing > 1 ? "between nodes, at" : "at", found.break_even_ranks,
      how.warmup > 0 ? fmt::format(", after {} steps of warm-up", how.warmup) : "");
  return found;
}

}  // namespace trainyard
