#include "core/reliability/checkpoint_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/cluster/host.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/methods/precision/tensor_state.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

// A layer's state on one device as if no replicas divided it. Where the framework's shards are
// master weights, there are no other weights to be saved.
StateBytes undivided_state(const Workload& w, const Body& layer) {
  Layout whole = w.layout;
  whole.weight_shards = whole.gradient_shards = whole.optimizer_shards = 1;
  whole.expert_weight_shards = whole.expert_gradient_shards = whole.expert_optimizer_shards = 1;
  whole.optimizer_multiple = 1;
  StateBytes state = state_bytes(w.scenario.plan, w.scenario.model, layer, whole);
  const bool masters = w.layout.framework.shards_are_master && w.layout.precision.master_weights &&
                       w.layout.weight_shards > 1 && !w.layout.host_optimizer;
  if (masters)
    state.weights = Bytes{layer.parameters.frozen_dense + layer.parameters.frozen_expert} * 4;
  return state;
}

// Adds what replicas have each for themselves: the part of gradients that compression has not sent,
// and where they make steps before they meet, all but the centre or the server's weights, of which
// each byte is held once or alike by all.
void add_own_state(const Workload& w, const Body& layer, StateBytes& state) {
  const Plan& plan = w.scenario.plan;
  constexpr std::int64_t kNumber = 4;
  const Bytes numbers{trained_share(layer, 1, 1) * kNumber};
  if (const Compression how = compression_of(plan); how.how != Compress::None) {
    const std::int64_t dividing =
        how.how == Compress::HiTopK ? dividing_replicas(plan, w.scenario.cluster) : 1;
    state.optimizer += numbers * (ranks(plan.mesh, Group::Data) / dividing - 1);
  }
  const Synchrony sync = synchrony_of(plan);
  if (!sync.relaxed()) return;
  state.weights = state.weights * sync.replicas;
  if (sync.served()) return;
  const Bytes centre = sync.how == Sync::Easgd ? numbers : Bytes{};
  state.optimizer = (state.optimizer - centre) * sync.replicas + centre;
}

Bytes rounded(double bytes) { return {std::llround(bytes)}; }

bool has_tables(const Model& model) {
  return model.family == "dlrm" &&
         std::any_of(model.blocks.begin(), model.blocks.end(), [](const Block& block) {
           return std::any_of(block.graph.nodes.begin(), block.graph.nodes.end(),
                              [](const Node& node) {
                                return node.op == &embedding() || node.op == &tensor_train();
                              });
         });
}

double seconds_at(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

[[noreturn]] void refuse_recovery(const std::string& sentence) {
  throw Error(Error::Kind::Unsupported, sentence, {"recovery"});
}

}  // namespace

const std::string_view kStorageSource =
    "The Llama 3 Herd of Models (2024), section 3.3.1: storage of 2 TB/s sustained, here 1 GB/s "
    "for each of 2048 nodes";

std::string_view to_string(Recovery recovery) {
  switch (recovery) {
    case Recovery::Full:
      return "full";
    case Recovery::Asynchronous:
      return "asynchronous";
    case Recovery::Peers:
      return "peers";
    case Recovery::Partial:
      break;
  }
  return "partial";
}

CheckpointBytes checkpoint_bytes(const Workload& w, const Result& result) {
  const auto ranks = static_cast<std::size_t>(std::max(1, w.scenario.plan.mesh.pp));
  std::vector<double> weights(ranks), optimizer(ranks), held(ranks);
  double parameters = 0;
  for (std::size_t stage = 0; stage < w.runs.size(); ++stage) {
    const std::size_t rank = w.table[stage].device.value;
    for (const Workload::Run& run : w.runs[stage]) {
      const Body& layer = w.bodies[static_cast<std::size_t>(run.body)];
      const auto count = static_cast<double>(run.count);
      StateBytes one = undivided_state(w, layer);
      add_own_state(w, layer, one);
      const StateBytes own = state_bytes(w.scenario.plan, w.scenario.model, layer, w.layout);
      weights[rank] += count * static_cast<double>(one.weights.value);
      optimizer[rank] += count * static_cast<double>(one.optimizer.value);
      held[rank] += count * static_cast<double>((own.weights + own.optimizer).value);
      const LocalParameters& p = layer.parameters;
      parameters +=
          count * static_cast<double>(p.dense + p.expert + p.frozen_dense + p.frozen_expert);
    }
  }
  // A device has its tensor rank's part, and some parameters are on all of these.
  const double times = parameters > 0 ? static_cast<double>(result.parameters) / parameters : 0;
  CheckpointBytes bytes;
  double all_weights = 0, all_optimizer = 0, most = 0, most_held = 0, all_held = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all_weights += weights[rank], all_optimizer += optimizer[rank];
    most = std::max(most, weights[rank] + optimizer[rank]);
    most_held = std::max(most_held, held[rank]);
    all_held += held[rank];
  }
  bytes.weights = rounded(all_weights * times), bytes.optimizer = rounded(all_optimizer * times);
  const double of_a_rank =
      std::max(1.0, static_cast<double>(w.scenario.cluster.count) / static_cast<double>(ranks));
  bytes.written = rounded(most * times / of_a_rank);
  bytes.read = rounded(most_held);
  bytes.held = rounded(all_held * of_a_rank);
  return bytes;
}

CheckpointTimes checkpoint_times(const CheckpointBytes& bytes, const Scenario& scenario,
                                 const Storage& storage, Recovery recovery) {
  const Cluster& cluster = scenario.cluster;
  const auto each = static_cast<double>(devices_per_node(cluster));
  const auto written = static_cast<double>(bytes.written.value),
             read = static_cast<double>(bytes.read.value),
             all = static_cast<double>(bytes.total().value);
  const double save =
      std::max(seconds_at(each * written, storage.node.value), seconds_at(all, storage.all.value));
  const double load =
      std::max(seconds_at(each * read, storage.node.value),
               seconds_at(read * static_cast<double>(cluster.count), storage.all.value));
  if (recovery == Recovery::Partial && !has_tables(scenario.model))
    refuse_recovery(
        "expected full, asynchronous or peers: a partial recovery takes back shards of embedding "
        "tables, which this model does not have");
  if (recovery == Recovery::Full) return {save, 0, load};
  // The node in place of the one that failed reads its shard, and nobody else reads.
  if (recovery == Recovery::Partial) return {save, 0, seconds_at(each * read, storage.node.value)};
  if (!(cluster.device.host_link.value.value > 0))
    refuse_recovery("expected full: " + cluster.device.name +
                    " states no link to its host, to which state would be copied");
  const double copy = to_seconds(host_copy_time(bytes.written, cluster));
  if (recovery == Recovery::Asynchronous) return {copy, save, load};
  if (nodes(cluster) < 2)
    refuse_recovery("expected full or asynchronous: a cluster of one node has no peer node");
  const double network = cluster.levels.back().bandwidth.value.value;
  return {copy, seconds_at(written, network), seconds_at(read, network)};
}

}  // namespace trainyard
