#include <algorithm>

#include "core/lowering/lowering.h"

namespace trainyard {
namespace {

void wait(Draft& draft, const WrittenAction& later, const WrittenAction& earlier) {
  if (!later.exists() || !earlier.exists()) return;
  // A lane works in order, and each of its actions waits for all that the one before left.
  if (earlier.written.first.stream == later.written.first.stream) return;
  for (Ref ref : earlier.written.done) draft.wait(later.written.first, ref);
  // Across lanes the computation itself is what there is to wait for.
  draft.wait(later.written.first, earlier.written.first);
}

/// Neighbouring stages on one device hand over directly; what a lane does for another lane's action
/// is waited for.
void wait_for_neighbours(Lowering& l) {
  for (std::size_t i = 0; i < l.forward.size(); ++i) {
    const std::size_t stage = i % l.stages;
    if (stage > 0 && l.forward[i - 1].device == l.forward[i].device)
      wait(l.draft, l.forward[i], l.forward[i - 1]);
    if (stage + 1 < l.stages && l.backward[i + 1].device == l.backward[i].device)
      wait(l.draft, l.backward[i], l.backward[i + 1]);
    wait(l.draft, l.backward[i], l.forward[i]);
    wait(l.draft, l.backward_weight[i], l.backward[i]);
  }
}

bool has_several_lanes(const Order& order, DeviceId device) {
  return std::count_if(order.lanes.begin(), order.lanes.end(),
                       [&](const Lane& lane) { return lane.device == device; }) > 1;
}

/// The update by another lane of the device that writes the version which the action reads; nothing
/// where the lane writes it itself.
const WrittenUpdate* update_of_another_lane(const Lowering& l, std::size_t lane, const Action& a) {
  const WrittenUpdate* other = nullptr;
  for (const WrittenUpdate& u : l.updates) {
    if (u.stage != a.stage.value || u.weights != a.weights ||
        l.order.lanes[u.lane].device != l.order.lanes[lane].device)
      continue;
    if (u.lane == lane) return nullptr;
    if (other == nullptr) other = &u;
  }
  return other;
}

void wait_for_versions_of_other_lanes(Lowering& l) {
  for (std::size_t lane = 0; lane < l.lanes.size(); ++lane) {
    if (!has_several_lanes(l.order, l.order.lanes[lane].device)) continue;
    for (const Action& a : l.order.lanes[lane].actions) {
      if (a.phase == Phase::Update || a.weights == 0) continue;
      const WrittenUpdate* update = update_of_another_lane(l, lane, a);
      if (update == nullptr) continue;
      const WrittenAction& reads = l.actions_of(a.phase)[l.cell(a.stage, a.microbatch)];
      if (reads.exists()) l.draft.wait(reads.written.first, update->ref);
    }
  }
}

WrittenAction find(Lowering& l, const Action& a) {
  if (a.phase != Phase::Update) return l.actions_of(a.phase)[l.cell(a.stage, a.microbatch)];
  WrittenAction found;
  for (const WrittenUpdate& u : l.updates)
    if (u.stage == a.stage.value && u.index == a.microbatch) {
      found.written.first = u.ref;
      found.written.done.add(u.ref);
      found.device = l.order.lanes[u.lane].device;
    }
  return found;
}

void wait_for_precedences(Lowering& l) {
  for (const Precedence& p : l.order.precedences)
    for (int walk = 0; walk < l.walks(); ++walk) {
      Action before = p.before, after = p.after;
      before.microbatch += walk * l.microbatches, after.microbatch += walk * l.microbatches;
      wait(l.draft, find(l, after), find(l, before));
    }
}

}  // namespace

void add_waits_between_lanes(Lowering& l) {
  if (!l.keeps_actions) return;
  wait_for_neighbours(l);
  if (l.asynchronous) wait_for_versions_of_other_lanes(l);
  wait_for_precedences(l);
}

}  // namespace trainyard
