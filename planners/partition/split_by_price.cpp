// Implements balanced_split() by prices: finds the exact optimum for single stages, then moves
// single layers between devices that have several stages.
#include <algorithm>
#include <tuple>

#include "core/base/error.h"
#include "planners/partition/balanced_split.h"
#include "planners/partition/split_search.h"
#include "planners/partition/stage_partition.h"

namespace trainyard {
namespace {

std::size_t stages_of(const SplitShape& shape) {
  return static_cast<std::size_t>(shape.devices) * static_cast<std::size_t>(shape.virtual_stages);
}

bool one_stage_each(const SplitShape& shape) {
  return shape.virtual_stages == 1 && copies(shape.placement) == 1;
}

PartitionProblem problem_of(const PricedChain& chain, const SplitShape& shape) {
  PartitionProblem p;
  p.kinds = chain.kinds, p.layers = chain.layers;
  const std::size_t stages = stages_of(shape);
  constexpr Bytes kNoLimit{std::int64_t{1} << 60};
  p.devices.assign(stages, {0, kNoLimit});
  for (std::size_t s = 0; s < stages; ++s)
    p.devices[s].device_class =
        shape.class_of(device_of(StageId{static_cast<std::uint32_t>(s)}, shape.devices,
                                 static_cast<int>(stages), shape.placement)
                           .value);
  if (one_stage_each(shape) && !shape.memory.empty())
    for (std::size_t d = 0; d < stages; ++d) p.devices[d].memory = shape.memory[d];
  if (shape.transfer > Duration{} && stages > 1) {
    p.links.assign(stages - 1, {1});  // layers have no output, so a message costs its latency only
    p.latency = shape.transfer;
  }
  p.blocking_sends = shape.blocking_sends;
  p.microbatches = shape.microbatches;
  p.live = shape.live;
  return p;
}

StageSplit split_of(const PricedChain& chain, const Partition& found) {
  StageSplit split;
  for (const PartitionStage& s : found.stages) split.layers.push_back(s.layers);
  if (chain.ahead) --split.layers.front();
  if (chain.behind) --split.layers.back();
  return split;
}

// Orders splits by their most loaded device first, then by how uneven the loads are.
std::tuple<Duration, double> weight(const std::vector<Duration>& loads) {
  double squares = 0;
  for (const Duration load : loads) {
    const auto t = static_cast<double>(load.count());
    squares += t * t;
  }
  return {*std::max_element(loads.begin(), loads.end()), squares};
}

StageSplit improved(const PricedChain& chain, const SplitShape& shape, StageSplit split) {
  const std::size_t stages = split.layers.size();
  auto best = weight(device_loads(chain, shape, split));
  for (bool better = true; better;) {
    better = false;
    const std::vector<Duration> loads = device_loads(chain, shape, split);
    const auto most =
        static_cast<std::uint32_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    StageSplit next;
    for (std::size_t from = 0; from < stages; ++from) {
      const StageId stage{static_cast<std::uint32_t>(from)};
      bool on_it = false;
      for (int copy = 0; copy < copies(shape.placement); ++copy)
        on_it |= device_of(stage, shape.devices, static_cast<int>(stages), shape.placement, copy)
                     .value == most;
      if (!on_it || split.layers[from] == 0) continue;
      for (std::size_t to = 0; to < stages; ++to) {
        if (to == from) continue;
        StageSplit other = moved(split, from, to);
        if (!is_legal(chain, other)) continue;
        const auto found = weight(device_loads(chain, shape, other));
        if (found < best) best = found, next = std::move(other), better = true;
      }
    }
    if (better) split = std::move(next);
  }
  return split;
}

}  // namespace

std::vector<Duration> device_loads(const PricedChain& chain, const SplitShape& shape,
                                   const StageSplit& split) {
  std::vector<Duration> loads(static_cast<std::size_t>(shape.devices));
  const int stages = static_cast<int>(split.layers.size());
  std::size_t at = 0;
  for (int s = 0; s < stages; ++s) {
    const bool first = s == 0 && chain.ahead, last = s + 1 == stages && chain.behind;
    const std::size_t end =
        at + static_cast<std::size_t>(split.layers[static_cast<std::size_t>(s)] + first + last);
    const std::size_t from = at;
    at = end;
    for (int copy = 0; copy < copies(shape.placement); ++copy) {
      const std::size_t device = device_of(StageId{static_cast<std::uint32_t>(s)}, shape.devices,
                                           stages, shape.placement, copy)
                                     .value;
      const auto kind = static_cast<std::size_t>(shape.class_of(device));
      for (std::size_t layer = from; layer < end; ++layer) {
        const PassTimes& t = chain.kinds[chain.layers[layer]].times[kind];
        loads[device] += t.forward + t.backward;
      }
    }
  }
  return loads;
}

StageSplit moved(const StageSplit& split, std::size_t from, std::size_t to) {
  StageSplit other = split;
  --other.layers[from], ++other.layers[to];
  return other;
}

bool is_legal(const PricedChain& chain, const StageSplit& split) {
  for (std::size_t s = 0; s < split.layers.size(); ++s) {
    const int room =
        split.layers[s] + (s == 0 && chain.ahead) + (s + 1 == split.layers.size() && chain.behind);
    if (split.layers[s] < 0 || room < 1) return false;
  }
  return true;
}

StageSplit balanced_split(const PricedChain& chain, const SplitShape& shape) {
  const StageSplit split = split_of(chain, partition(problem_of(chain, shape)));
  return one_stage_each(shape) ? split : improved(chain, shape, split);
}

}  // namespace trainyard
