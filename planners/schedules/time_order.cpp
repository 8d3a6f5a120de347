#include "planners/schedules/time_order.h"

#include <algorithm>
#include <cassert>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr Duration kUnknown{-1};

class OrderClock {
 public:
  OrderClock(const Order& order, const ScheduleProblem& problem)
      : order_(order),
        problem_(problem),
        stages_(problem.stages.size()),
        microbatches_(static_cast<std::size_t>(problem.microbatches)) {
    ends_.assign(3 * stages_ * microbatches_, kUnknown);
    next_.assign(order.lanes.size(), 0);
    for (const Lane& lane : order.lanes) free_.push_back(lane.delay);
    starts_.resize(order.lanes.size());
    for (const Precedence& p : order.precedences) waits_.push_back({cell(p.after), cell(p.before)});
    std::sort(waits_.begin(), waits_.end());
  }

  OrderTiming run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t lane = 0; lane < next_.size(); ++lane) moved = advance(lane) || moved;
      for (std::size_t lane = next_.size(); lane-- > 0;) moved = advance(lane) || moved;
    }
    for (std::size_t lane = 0; lane < next_.size(); ++lane)
      if (next_[lane] < order_.lanes[lane].actions.size())
        throw Error(Error::Kind::InvalidInput,
                    "expected an order that check() accepts; this one's lanes wait for each other",
                    {"order"});
    return timing();
  }

 private:
  // A whole backward is stored as its input gradient.
  std::size_t cell(const Action& a) const {
    const std::size_t pass = a.phase == Phase::Forward          ? 0
                             : a.phase == Phase::BackwardWeight ? 2
                                                                : 1;
    return (pass * stages_ + a.stage.value) * microbatches_ +
           static_cast<std::size_t>(a.microbatch);
  }

  Duration length(const Action& a) const {
    const StageCost& cost = problem_.stages[a.stage.value];
    switch (a.phase) {
      case Phase::Forward:
        return cost.forward;
      case Phase::Backward:
        return cost.backward_input + cost.backward_weight;
      case Phase::BackwardInput:
        return cost.backward_input;
      case Phase::BackwardWeight:
        return cost.backward_weight;
      case Phase::Update:
        break;
    }
    return Duration{};
  }

  Duration hop(std::uint32_t from, std::uint32_t to) const {
    const auto device = [&](std::uint32_t s) {
      return device_of({s}, problem_.devices, static_cast<int>(stages_), problem_.placement);
    };
    return device(from) == device(to) ? Duration{} : problem_.transfer;
  }

  // When everything that the action needs is available; kUnknown while something is not.
  Duration ready(const Action& a) const {
    Duration when{};
    const auto need = [&](std::size_t of, Duration later) {
      const Duration end = ends_[of];
      when = end == kUnknown || when == kUnknown ? kUnknown : std::max(when, end + later);
    };
    const std::uint32_t s = a.stage.value;
    const auto other = [&](Phase phase, std::uint32_t stage) {
      return cell({phase, {stage}, a.microbatch});
    };
    if (a.phase == Phase::Forward && s > 0) need(other(Phase::Forward, s - 1), hop(s - 1, s));
    if (a.phase == Phase::Backward || a.phase == Phase::BackwardInput) {
      need(other(Phase::Forward, s), {});
      if (s + 1 < stages_) need(other(Phase::BackwardInput, s + 1), hop(s + 1, s));
    }
    if (a.phase == Phase::BackwardWeight) need(other(Phase::BackwardInput, s), {});
    if (waits_.empty() || a.phase == Phase::Update) return when;
    auto wait = std::lower_bound(waits_.begin(), waits_.end(), std::pair{cell(a), std::size_t{0}});
    for (; wait != waits_.end() && wait->first == cell(a); ++wait) need(wait->second, {});
    return when;
  }

  bool advance(std::size_t l) {
    const Lane& lane = order_.lanes[l];
    bool moved = false;
    for (; next_[l] < lane.actions.size(); ++next_[l], moved = true) {
      const Action& a = lane.actions[next_[l]];
      const Duration input = ready(a);
      if (input == kUnknown) break;
      starts_[l].push_back(std::max(free_[l], input));
      free_[l] = starts_[l].back() + length(a);
      if (a.phase != Phase::Update) ends_[cell(a)] = free_[l];
    }
    return moved;
  }

  // A change of what a device holds; at equal times, releases come first.
  struct Change {
    Duration when{};
    std::int64_t bytes = 0;
    friend auto operator<=>(const Change&, const Change&) = default;
  };

  void add_changes(std::size_t l, std::vector<Change>& changes) const {
    const Lane& lane = order_.lanes[l];
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      const Action& a = lane.actions[i];
      const StageCost& cost = problem_.stages[a.stage.value];
      const Duration start = starts_[l][i], end = start + length(a);
      const std::int64_t early = cost.until_input.value, late = cost.until_weight.value;
      if (a.phase == Phase::Forward) changes.push_back({start, early + late});
      if (a.phase == Phase::Backward) changes.push_back({end, -early - late});
      if (a.phase == Phase::BackwardInput) changes.push_back({end, -early});
      if (a.phase == Phase::BackwardWeight) changes.push_back({end, -late});
    }
  }

  OrderTiming timing() const {
    OrderTiming found;
    Duration begin = Duration::max();
    const auto devices = static_cast<std::size_t>(problem_.devices);
    found.spans.resize(devices), found.peaks.resize(devices);
    for (std::size_t d = 0; d < devices; ++d) {
      std::vector<Change> changes;
      Duration first = Duration::max(), last{};
      std::size_t lanes = 0;
      for (std::size_t l = 0; l < order_.lanes.size(); ++l) {
        if (order_.lanes[l].device.value != d || starts_[l].empty()) continue;
        ++lanes;
        first = std::min(first, starts_[l].front()), last = std::max(last, free_[l]);
        add_changes(l, changes);
      }
      if (lanes == 0) continue;
      // A single lane is already in sequence, even if actions take no time.
      if (lanes > 1) std::stable_sort(changes.begin(), changes.end());
      std::int64_t held = 0;
      for (const Change& c : changes) {
        held += c.bytes;
        found.peaks[d].value = std::max(found.peaks[d].value, held);
      }
      found.spans[d] = last - first;
      found.longest_span = std::max(found.longest_span, found.spans[d]);
      found.makespan = std::max(found.makespan, last);
      begin = std::min(begin, first);
    }
    if (found.makespan > Duration{}) found.makespan -= begin;
    found.starts = starts_;
    return found;
  }

  const Order& order_;
  const ScheduleProblem& problem_;
  std::size_t stages_, microbatches_;
  std::vector<Duration> ends_;                              // by cell
  std::vector<std::pair<std::size_t, std::size_t>> waits_;  // pairs of cells: after, before
  std::vector<std::size_t> next_;                           // of each lane
  std::vector<Duration> free_;
  std::vector<std::vector<Duration>> starts_;
};

}  // namespace

OrderTiming time_order(const Order& order, const ScheduleProblem& problem) {
  return OrderClock(order, problem).run();
}

}  // namespace trainyard
