#include "core/methods/held_moments.h"

#include <algorithm>

#include "core/plan/placement.h"

namespace trainyard {
namespace {

// Whether `more` holds at least as much as `less`, whatever a microbatch weighs.
bool covers(const HeldMoment& more, const HeldMoment& less) {
  for (std::size_t i = 0; i < less.counts.size(); ++i)
    if (more.counts[i].live < less.counts[i].live ||
        more.counts[i].for_weight < less.counts[i].for_weight)
      return false;
  return true;
}

void keep_fullest(std::vector<HeldMoment>& list, HeldMoment one) {
  const auto same = [&](const HeldMoment& other) {
    return other.phase == one.phase && other.copy == one.copy;
  };
  for (const HeldMoment& other : list)
    if (same(other) && covers(other, one)) return;
  std::erase_if(list, [&](const HeldMoment& other) { return same(other) && covers(one, other); });
  list.push_back(std::move(one));
}

// How many a device holds now, by copy of its stages.
class Now {
 public:
  void change(std::uint32_t copy, bool for_weight, int by) {
    HeldCount& count = of(copy);
    // Every microbatch stands among those that await their weight gradient from its forward on.
    if (for_weight)
      count.for_weight += by;
    else
      count.live += by, count.for_weight -= by;
  }
  const std::vector<HeldCount>& counts() const { return counts_; }
  std::vector<HeldCount>& counts() { return counts_; }
  HeldCount& of(std::uint32_t copy) {
    const auto at = std::lower_bound(
        counts_.begin(), counts_.end(), copy,
        [](const HeldCount& count, std::uint32_t wanted) { return count.copy < wanted; });
    if (at != counts_.end() && at->copy == copy) return *at;
    return *counts_.insert(at, {copy, 0, 0});
  }

 private:
  std::vector<HeldCount> counts_;
};

}  // namespace

void HeldOverTime::change(Duration at, bool begins, std::uint32_t copy, bool for_weight) {
  events_.push_back({at, begins ? Kind::Comes : Kind::Goes, for_weight, copy, Phase::Forward});
  sorted_ = false;
}

void HeldOverTime::action(Phase phase, std::uint32_t copy, Duration start, Duration done) {
  if (start == done) return;
  events_.push_back({start, Kind::Starts, false, copy, phase});
  events_.push_back({done, Kind::Ends, false, copy, phase});
  sorted_ = false;
}

void HeldOverTime::sort() {
  if (sorted_) return;
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.kind < b.kind;
  });
  sorted_ = true;
}

std::vector<HeldCount> HeldOverTime::fullest() {
  sort();
  Now now;
  std::vector<HeldCount> found;
  int held = 0, most = 0;
  for (const Event& e : events_) {
    if (e.kind == Kind::Starts || e.kind == Kind::Ends) continue;
    const int by = e.kind == Kind::Comes ? 1 : -1;
    now.change(e.copy, e.for_weight, by);
    held += by;
    if (held > most) most = held, found = now.counts();
  }
  return found;
}

std::vector<HeldMoment> HeldOverTime::moments() {
  sort();
  Now now;
  for (const Event& e : events_) now.of(e.copy);  // each moment names every copy
  std::vector<HeldMoment> found;
  std::vector<std::pair<Phase, std::uint32_t>> running;
  for (const Event& e : events_) {
    const std::pair action{e.phase, e.copy};
    switch (e.kind) {
      case Kind::Ends:
        running.erase(std::find(running.begin(), running.end(), action));
        break;
      case Kind::Goes:
      case Kind::Comes:
        now.change(e.copy, e.for_weight, e.kind == Kind::Comes ? 1 : -1);
        break;
      case Kind::Starts:
        running.push_back(action);
        break;
    }
    if (e.kind == Kind::Comes || e.kind == Kind::Starts)
      for (const auto& [phase, copy] : running) keep_fullest(found, {phase, copy, now.counts()});
  }
  return found;
}

std::vector<std::vector<HeldMoment>> moments_of(const std::vector<int>& live,
                                                const ScheduleShape& shape) {
  std::vector<std::vector<HeldMoment>> found(static_cast<std::size_t>(shape.devices));
  std::vector<std::vector<HeldCount>> counts(found.size());
  const int each = copies(shape.placement);
  for (std::uint32_t i = 0; i < live.size(); ++i) {
    const StageId stage{i / static_cast<std::uint32_t>(each)};
    const DeviceId device =
        device_of(stage, shape.devices, shape.stages, shape.placement, static_cast<int>(i) % each);
    counts[device.value].push_back({i, live[i], 0});
  }
  for (std::size_t d = 0; d < found.size(); ++d)
    for (const HeldCount& own : counts[d])
      for (const Phase phase : {Phase::Forward, Phase::Backward})
        found[d].push_back({phase, own.copy, counts[d]});
  return found;
}

}  // namespace trainyard
