#include "core/lowering/lane_facts.h"

#include <algorithm>
#include <map>
#include <set>

namespace trainyard {
namespace {

bool makes_gradients(Phase phase) {
  return phase == Phase::Backward || phase == Phase::BackwardWeight;
}

bool updates(const Lane& lane) {
  return std::any_of(lane.actions.begin(), lane.actions.end(),
                     [](const Action& a) { return a.phase == Phase::Update; });
}

}  // namespace

std::vector<Moment> moments(const Order& order, std::size_t index, std::size_t stages) {
  const Lane& lane = order.lanes[index];
  std::vector<Moment> found(lane.actions.size());
  std::vector<bool> read(stages, false), due(stages, !updates(lane)), completed(stages, true);
  for (std::size_t later = index + 1; !updates(lane) && later < order.lanes.size(); ++later)
    if (order.lanes[later].device == lane.device)
      for (const Action& a : order.lanes[later].actions)
        if (makes_gradients(a.phase)) completed[a.stage.value] = false;
  for (std::size_t i = 0; i < lane.actions.size(); ++i) {
    const Action& a = lane.actions[i];
    if (a.phase == Phase::Update) read[a.stage.value] = false;
    if (a.phase != Phase::Forward) continue;
    found[i].first_forward = !read[a.stage.value];
    read[a.stage.value] = true;
  }
  for (std::size_t i = lane.actions.size(); i-- > 0;) {
    const Action& a = lane.actions[i];
    if (a.phase == Phase::Update) due[a.stage.value] = true;
    if (!makes_gradients(a.phase)) continue;
    found[i].last_backward = due[a.stage.value];
    found[i].completes = due[a.stage.value] && completed[a.stage.value];
    due[a.stage.value] = false;
  }
  return found;
}

std::vector<int> held_versions(const Lane& lane, std::size_t stages) {
  std::vector<int> change(lane.actions.size(), 0);
  if (!updates(lane)) return change;
  // The last read of each version of each stage.
  std::vector<std::map<int, std::size_t>> last(stages);
  for (std::size_t i = 0; i < lane.actions.size(); ++i)
    if (const Action& a = lane.actions[i]; a.phase != Phase::Update)
      last[a.stage.value][a.weights] = i;
  std::vector<std::set<int>> held(stages);
  std::vector<int> current(stages, 0);
  for (std::size_t i = 0; i < lane.actions.size(); ++i) {
    const Action& a = lane.actions[i];
    if (a.phase != Phase::Update) continue;
    const std::size_t s = a.stage.value, before = held[s].size();
    held[s].insert(current[s]);
    std::erase_if(held[s], [&](int version) {
      const auto read = last[s].find(version);
      return read == last[s].end() || read->second < i;
    });
    current[s] = a.weights;
    change[i] = static_cast<int>(held[s].size()) - static_cast<int>(before);
  }
  return change;
}

WaveState wave_state(const Order& order, DeviceId device) {
  int lanes = 0;
  bool same_version = false;
  std::set<std::pair<std::uint32_t, std::int16_t>> written;
  for (const Lane& lane : order.lanes) {
    if (lane.device != device || !updates(lane)) continue;
    ++lanes;
    for (const Action& a : lane.actions)
      if (a.phase == Phase::Update)
        same_version |= !written.insert({a.stage.value, a.weights}).second;
  }
  if (lanes < 2) return {};
  return {same_version ? lanes - 1 : 0, same_version ? 0 : lanes - 1, lanes - 1};
}

}  // namespace trainyard
