#include "planners/partition/balanced_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/memory/process_bytes.h"
#include "core/plan/stage_kinds.h"
#include "planners/partition/split_search.h"

namespace trainyard {
namespace {

Bytes grown(Bytes bytes, double factor) {
  return Bytes{std::llround(static_cast<double>(bytes.value) * std::max(1.0, factor))};
}

PassTimes pass_times(const Workload& w, const StageTime& time) {
  const bool split = splits_backward(w);
  Duration backward =
      split ? time.backward_input.total() + time.backward_weight.total() : time.backward.total();
  if (w.layout.reduce_every_microbatch) {
    const Duration reduce = time.reduce_others + time.reduce_last;
    backward = time.reduce_overlapped ? std::max(backward, reduce) : backward + reduce;
  }
  return {time.forward.total(), backward};
}

ChainLayer priced(const StageWork& work, std::vector<PassTimes> times, double fragmentation) {
  const PhaseBytes& bytes = work.bytes;
  const StateBytes& state = work.state.total;
  ChainLayer kind;
  kind.times = std::move(times);
  kind.state = state.weights + state.gradients + state.optimizer;
  kind.gradients = state.gradients;
  kind.activations =
      grown(bytes.until_input - bytes.stage_tensors + bytes.until_weight, fragmentation);
  kind.workspace =
      grown(std::max(bytes.gathered + bytes.forward_workspace,
                     bytes.backward_communication + bytes.recomputed + bytes.backward_workspace),
            fragmentation);
  return kind;
}

void join(ChainLayer& layer, const ChainLayer& with, int count) {
  for (std::size_t device = 0; device < layer.times.size(); ++device) {
    layer.times[device].forward += with.times[device].forward * count;
    layer.times[device].backward += with.times[device].backward * count;
  }
  layer.state += with.state * count;
  layer.gradients += with.gradients * count;
  layer.activations += with.activations * count;
  layer.workspace = std::max(layer.workspace, with.workspace);
}

// The layers of the chain in order, from the priced blocks of the model.
PricedChain chain_of(const Model& model, const std::vector<ChainLayer>& blocks) {
  PricedChain chain;
  const int layers = layer_count(model);
  int seen = 0;
  const auto start = [&](const ChainLayer& kind) {
    chain.kinds.push_back(kind);
    return static_cast<std::uint32_t>(chain.kinds.size() - 1);
  };
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const Block& block = model.blocks[b];
    if (block.layer) {
      chain.layers.insert(chain.layers.end(), static_cast<std::size_t>(block.count),
                          start(blocks[b]));
      seen += block.count;
      continue;
    }
    // A block at the first or last end of the model joins its end stage; any other joins the layer
    // before it.
    bool& at_an_end = seen == 0 ? chain.ahead : chain.behind;
    const bool begins = (seen == 0 || seen == layers) && !at_an_end;
    if (begins) at_an_end = true;
    ChainLayer kind;
    if (begins)
      kind.times.resize(blocks[b].times.size());
    else
      kind = chain.kinds[chain.layers.back()];
    join(kind, blocks[b], block.count);
    if (begins)
      chain.layers.push_back(start(kind));
    else
      chain.layers.back() = start(kind);
  }
  return chain;
}

// A legal initial split, as even as the chain allows; empty if the chain cannot fill the stages.
StageSplit first_split(const Model& model, const Plan& plan) {
  const std::int64_t stages = std::int64_t{plan.mesh.pp} * plan.virtual_stages;
  if (stages < 1 || model.blocks.empty()) return {};
  const bool ahead = !model.blocks.front().layer, behind = !model.blocks.back().layer;
  const std::int64_t chain = layer_count(model) + ahead + behind;
  if (chain < stages || layer_count(model) == 0) return {};
  StageSplit split;
  for (std::int64_t s = 0; s < stages; ++s)
    split.layers.push_back(static_cast<int>(chain * (s + 1) / stages - chain * s / stages));
  if (ahead) --split.layers.front();
  if (behind) --split.layers.back();
  return split;
}

// The memory that each device has for states, activations and workspace.
std::vector<Bytes> room_for_layers(const Workload& w, const CostModel& cost) {
  std::vector<Bytes> room = capacities(w);
  const std::vector<Bytes> framework = process_bytes(w, processes(w, cost));
  for (std::size_t d = 0; d < room.size(); ++d) room[d] = std::max(Bytes{}, room[d] - framework[d]);
  return room;
}

// The most microbatches that each stage holds at once under the plan's order, by the number of
// stages behind it.
std::vector<int> live_microbatches(const Workload& w, const CostModel& cost) {
  const ScheduleShape shape = schedule_shape(w, phase_times(w, cost));
  const Order order = trainyard::order(w, shape);
  std::vector<int> most(w.table.size());
  for (const Lane& lane : order.lanes) {
    std::vector<int> now(most.size());
    for (const Action& a : lane.actions) {
      const std::size_t s = a.stage.value;
      if (a.phase == Phase::Forward) most[s] = std::max(most[s], ++now[s]);
      if (a.phase == Phase::Backward || a.phase == Phase::BackwardWeight ||
          static_cast<int>(s) < shape.forward_only)
        --now[s];
    }
  }
  std::reverse(most.begin(), most.end());
  return most;
}

// The scenario with an even split or, where its layers do not divide, the first legal one.
Scenario with_first_split(Scenario s) {
  s.plan.split = {};
  if (has_errors(check_split(s.model, s.plan))) s.plan.split = first_split(s.model, s.plan);
  return s;
}

SplitShape shape_of(const Workload& w, const CostModel& cost) {
  const Scenario& s = w.scenario;
  SplitShape shape{.devices = s.plan.mesh.pp,
                   .virtual_stages = s.plan.virtual_stages,
                   .placement = w.placement,
                   .microbatches = microbatches(s.plan),
                   .transfer = transfer_time(w, cost),
                   .blocking_sends = w.layout.blocking_sends};
  for (int d = 0; is_mixed(s.cluster) && d < shape.devices; ++d)
    shape.classes.push_back(static_cast<int>(
        kind_of_rank(s.cluster, s.plan.mesh, DeviceId{static_cast<std::uint32_t>(d)})));
  return shape;
}

}  // namespace

PricedChain price_chain(Workload& w, const CostModel& cost) {
  const Model& model = w.scenario.model;
  const std::vector<std::vector<Workload::Run>> runs = w.runs;
  // Makes each block a stage of its own, so that its times and bytes can be read off.
  w.runs.assign(model.blocks.size(), {});
  for (std::size_t i = 0; i < w.bodies.size(); ++i) {
    std::vector<Workload::Run>& one = w.runs[static_cast<std::size_t>(w.bodies[i].block)];
    if (one.empty() || recomputed_bytes(w.bodies[i]).value == 0)
      one = {{static_cast<int>(i), 1, 0}};
  }
  sum_stages(w);
  const KindClusters clusters(w.scenario.cluster);
  std::vector<std::vector<PassTimes>> times(model.blocks.size());  // by block, by kind of devices
  double fragmentation = 1;
  for (std::size_t kind = 0; kind < clusters.size(); ++kind) {
    const std::vector<StageTime> on_kind = stage_times(w, cost, clusters[kind]);
    for (std::size_t b = 0; b < times.size(); ++b) times[b].push_back(pass_times(w, on_kind[b]));
    fragmentation =
        std::max(fragmentation, cost.process_memory(clusters[kind].device).fragmentation);
  }
  std::vector<ChainLayer> blocks;
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    blocks.push_back(priced(w.kinds[w.kind_of[b]], std::move(times[b]), fragmentation));
  w.runs = runs;
  sum_stages(w);
  return chain_of(model, blocks);
}

StageSplit weighted_split(const Scenario& scenario, const CostModel& cost) {
  Workload w = prepare(with_first_split(scenario));
  if (w.table.size() < 2) return {};
  const PricedChain chain = price_chain(w, cost);
  SplitShape shape = shape_of(w, cost);
  shape.live = live_microbatches(w, cost);
  shape.memory = room_for_layers(w, cost);
  return balanced_split(chain, shape);
}

BalancedSplit balance(const Scenario& scenario, const CostModel& cost) {
  const Scenario s = with_first_split(scenario);
  const bool even = s.plan.split.layers.empty();
  Workload w = prepare(s);
  SplitSearch search(w, cost);
  BalancedSplit found;
  found.even = even;
  if (even) found.even_step = search.best().step, found.even_missing = search.best().missing;
  const std::size_t stages = w.table.size();
  if (stages > 1) {
    const PricedChain chain = price_chain(w, cost);
    SplitShape shape = shape_of(w, cost);
    search.offer_arrangements(balanced_split(chain, shape));
    if (search.best().missing > Bytes{}) {
      shape.live = live_microbatches(w, cost);
      shape.memory = room_for_layers(w, cost);
      search.offer_arrangements(balanced_split(chain, shape));
    }
    search.improve(chain, shape);
  }
  found.split = search.best().split;
  found.step = search.best().step, found.missing = search.best().missing;
  found.estimated = search.estimated();
  return found;
}

}  // namespace trainyard
