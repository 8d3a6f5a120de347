#include "core/methods/orders/held_moments.h"

#include <algorithm>

#include "core/plan/placement.h"

namespace trainyard {
namespace {

using Counts = std::vector<HeldCount>;

// Returns whether `more` holds at least as much as `less` for any size of a microbatch.
bool covers(const Counts& more, const Counts& less) {
  for (std::size_t i = 0; i < less.size(); ++i)
    if (more[i].live < less[i].live || more[i].for_weight < less[i].for_weight) return false;
  return true;
}

// OfAction has the fullest moments of one kind of action of one copy.
struct OfAction {
  HeldMoment::Running action;
  std::vector<Counts> fullest;

  void keep(const Counts& counts) {
    for (const Counts& other : fullest)
      if (covers(other, counts)) return;
    std::erase_if(fullest, [&](const Counts& other) { return covers(counts, other); });
    fullest.push_back(counts);
  }
};

bool same_action(const HeldMoment::Running& a, const HeldMoment::Running& b) {
  return a.phase == b.phase && a.copy == b.copy;
}

bool same_counts(const Counts& a, const Counts& b) { return covers(a, b) && covers(b, a); }

// Returns each moment once, with all actions that run at it.
std::vector<HeldMoment> joined(std::vector<OfAction>&& actions) {
  std::vector<HeldMoment> found;
  for (OfAction& one : actions)
    for (Counts& counts : one.fullest) {
      const auto same = std::find_if(found.begin(), found.end(), [&](const HeldMoment& moment) {
        return same_counts(moment.counts, counts);
      });
      if (same != found.end())
        same->running.push_back(one.action);
      else
        found.push_back({std::move(counts), {one.action}});
    }
  return found;
}

HeldCount& count_of(Counts& counts, std::uint32_t copy) {
  const auto at = std::lower_bound(
      counts.begin(), counts.end(), copy,
      [](const HeldCount& count, std::uint32_t wanted) { return count.copy < wanted; });
  if (at != counts.end() && at->copy == copy) return *at;
  return *counts.insert(at, {copy, 0, 0});
}

}  // namespace

void HeldOverTime::action(Phase phase, std::uint32_t copy, Duration start, Duration done,
                          bool alone) {
  const bool forward = phase == Phase::Forward, input = phase == Phase::BackwardInput,
             weight = phase == Phase::BackwardWeight, runs = start < done;
  events_.push_back({start, Kind::Starts, phase, copy, forward ? 1 : 0, 0, runs});
  events_.push_back({done, runs ? Kind::Ends : Kind::Starts, phase, copy,
                     (forward && !alone) || weight ? 0 : -1,
                     input    ? 1
                     : weight ? -1
                              : 0,
                     runs});
}

void HeldOverTime::host_copy(Duration at, bool comes, std::uint32_t copy) {
  events_.push_back(
      {at, comes ? Kind::Comes : Kind::Leaves, Phase::Forward, copy, comes ? 1 : -1, 0, false});
}

std::vector<HeldMoment> HeldOverTime::moments() {
  const auto earlier = [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.kind < b.kind;
  };
  // The events of a single lane are already sorted.
  if (!std::is_sorted(events_.begin(), events_.end(), earlier))
    std::stable_sort(events_.begin(), events_.end(), earlier);
  Counts now;
  for (const Event& e : events_)
    count_of(now, e.copy);  // creates an entry per copy, so that each moment lists every copy
  std::vector<OfAction> actions;
  std::vector<std::size_t> running;  // indices into actions
  for (const Event& e : events_) {
    HeldCount& count = count_of(now, e.copy);
    count.live += e.live, count.for_weight += e.for_weight;
    const HeldMoment::Running action{e.phase, e.copy};
    if (e.runs && e.kind == Kind::Ends) {
      running.erase(std::find_if(running.begin(), running.end(), [&](std::size_t i) {
        return same_action(actions[i].action, action);
      }));
    } else if (e.runs) {
      const auto known = std::find_if(actions.begin(), actions.end(), [&](const OfAction& one) {
        return same_action(one.action, action);
      });
      running.push_back(static_cast<std::size_t>(known - actions.begin()));
      if (known == actions.end()) actions.push_back({action, {}});
    }
    if (e.kind == Kind::Comes || e.kind == Kind::Starts)
      for (const std::size_t i : running) actions[i].keep(now);
  }
  return joined(std::move(actions));
}

std::vector<std::vector<HeldMoment>> moments_of(const std::vector<int>& live,
                                                const ScheduleShape& shape) {
  std::vector<std::vector<HeldMoment>> found(static_cast<std::size_t>(shape.devices),
                                             std::vector<HeldMoment>(1));
  const int each = copies(shape.placement);
  for (std::uint32_t i = 0; i < live.size(); ++i) {
    const StageId stage{i / static_cast<std::uint32_t>(each)};
    const DeviceId device =
        device_of(stage, shape.devices, shape.stages, shape.placement, static_cast<int>(i) % each);
    HeldMoment& moment = found[device.value].front();
    moment.counts.push_back({i, live[i], 0});
    for (const Phase phase : {Phase::Forward, Phase::Backward})
      moment.running.push_back({phase, i});
  }
  return found;
}

}  // namespace trainyard
