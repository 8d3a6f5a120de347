#include "core/program/offloaded.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard {

std::vector<bool> offloaded(const Lane& lane) {
  std::vector<bool> moves(lane.actions.size(), false);
  struct Kept {
    std::size_t at;
    int forwards;  // of the lane so far, including this one
  };
  std::map<std::pair<std::uint32_t, std::int32_t>, Kept> kept;
  int forwards = 0;
  for (std::size_t i = 0; i < lane.actions.size(); ++i) {
    const Action& a = lane.actions[i];
    const std::pair key{a.stage.value, a.microbatch};
    if (a.phase == Phase::Forward) {
      kept[key] = {i, ++forwards};
    } else if (a.phase == Phase::Backward) {
      const auto from = kept.find(key);
      if (from == kept.end() || forwards - from->second.forwards < kLeastBetween) continue;
      moves[i] = moves[from->second.at] = true;
    }
  }
  return moves;
}

std::vector<int> most_offloaded(const Lane& lane, std::size_t stages) {
  const std::vector<bool> moves = offloaded(lane);
  std::vector<int> now(stages, 0), most(stages, 0);
  for (std::size_t i = 0; i < lane.actions.size(); ++i) {
    if (!moves[i]) continue;
    const std::size_t s = lane.actions[i].stage.value;
    now[s] += lane.actions[i].phase == Phase::Forward ? 1 : -1;
    most[s] = std::max(most[s], now[s]);
  }
  return most;
}

// Activations that come back take their memory on the device again; gradients leave theirs.
HostCargo host_cargo(const Task& task) {
  switch (task.phase) {
    case Phase::Forward:
      return HostCargo::ActivationsDown;
    case Phase::Update:
      return HostCargo::Weights;
    default:
      return task.effects > 0 ? HostCargo::ActivationsUp : HostCargo::Gradients;
  }
}

}  // namespace trainyard
