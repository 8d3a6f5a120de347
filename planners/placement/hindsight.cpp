#include "planners/placement/hindsight.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "planners/index.h"
#include "planners/placement/lifetimes.h"
#include "planners/placement/placement_policies.h"

namespace trainyard {
namespace {

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped", {"placement"});
}

std::vector<PlacementSchedule> online_schedules(const JobTrace& trace,
                                                const PlacementRules& rules) {
  return {place_all(trace, rules, first_fit), place_all(trace, rules, best_fit),
          place_all(trace, rules, least_loaded), place_all(trace, rules, complementary_waves)};
}

Hindsight best_of(const JobTrace& trace, const PlacementRules& rules,
                  std::vector<PlacementSchedule> schedules) {
  Hindsight best;
  for (PlacementSchedule& schedule : schedules) {
    const PlacementCost cost = placement_cost(trace, rules, schedule);
    if (best.schedule.empty() || cost < best.cost)
      best.schedule = std::move(schedule), best.cost = cost;
  }
  best.peak_bound = peak_bound(trace, rules);
  return best;
}

class Branches {
 public:
  Branches(const ClusterState& from, int job, Hindsight start, std::int64_t most,
           const std::stop_token& stop)
      : trace_(from.trace()),
        best_(std::move(start)),
        most_(most),
        stop_(stop),
        schedule_(trace_.jobs.size()) {
    best_.exact = true;
    visit(from, job, {0, from.peak(), 0});
  }
  Hindsight take() { return std::move(best_); }

 private:
  // A part never costs less than what it has cost so far, first figure first.
  void visit(ClusterState state, int job, PlacementCost so_far) {
    if (++best_.states > most_) {
      best_.exact = false;
      return;
    }
    if ((best_.states & 1023) == 0) throw_if_stopped(stop_);
    if (so_far >= best_.cost) return;
    if (job == static_cast<int>(trace_.jobs.size())) {
      best_.cost = so_far;
      best_.schedule = schedule_;
      return;
    }
    const Instant arrival = trace_.jobs[at(job)].arrival;
    const Instant deadline = arrival + state.rules().patience;
    state.pass_until(arrival);
    if (state.now() <= deadline) {
      bool tried_empty = false;
      for (const PlacementOption& option : state.options(job, false)) {
        // Empty nodes are alike.
        if (state.nodes()[at(option.node)].residents.empty() && std::exchange(tried_empty, true))
          continue;
        ClusterState next = state;
        next.start(job, option);
        schedule_[at(job)] = {option.node, option.partner, state.now()};
        PlacementCost cost = so_far;
        cost.peak = std::max(cost.peak, next.peak());
        cost.waited += (state.now() - arrival).count();
        visit(std::move(next), job + 1, cost);
      }
      const std::optional<Instant> next = state.next_end();
      if (next && *next <= deadline) {
        state.pass_until(*next);
        visit(std::move(state), job, so_far);
        return;
      }
    }
    state.pass_until(deadline);
    schedule_[at(job)] = {-1, -1, state.now()};
    ++so_far.rejected;
    so_far.waited += (state.now() - arrival).count();
    visit(std::move(state), job + 1, so_far);
  }

  const JobTrace& trace_;
  Hindsight best_;
  std::int64_t most_;
  const std::stop_token& stop_;
  PlacementSchedule schedule_;
};

}  // namespace

std::int64_t peak_bound(const JobTrace& trace, const PlacementRules& rules) {
  // Twice the share of a job, so that halves stay whole.
  std::vector<std::int64_t> share;
  const std::size_t kinds = trace.kinds.size();
  std::int64_t bound = 0;
  for (std::size_t k = 0; k < kinds; ++k) {
    share.push_back(2 * peak_of(trace.kinds[k].wave));
    if (!rules.pairs) continue;
    // Two waves hold at least the sum of their means at some instant, and a mean does not depend on
    // the partner.
    const PhaseWave& wave = trace.kinds[k].wave;
    share[k] = 2 * std::accumulate(wave.begin(), wave.end(), std::int64_t{0}) /
               static_cast<std::int64_t>(kWavePhases);
  }
  std::vector<std::pair<Instant, std::int64_t>> changes;
  for (const TracedJob& job : trace.jobs) {
    bound = std::max(bound, peak_of(trace.kinds[at(job.kind)].wave));
    changes.emplace_back(job.arrival, share[at(job.kind)]);
    changes.emplace_back(job.arrival + job.duration, -share[at(job.kind)]);
  }
  std::sort(changes.begin(), changes.end());  // at one instant jobs go first
  std::int64_t sum = 0;
  const std::int64_t nodes = 2 * std::int64_t{rules.nodes.count};
  for (const auto& [when, change] : changes) {
    sum += change;
    bound = std::max(bound, (sum + nodes - 1) / nodes);
  }
  return bound;
}

Hindsight exact_hindsight(const JobTrace& trace, const PlacementRules& rules,
                          std::int64_t most_states, const std::stop_token& stop) {
  return Branches(ClusterState(trace, rules), 0,
                  best_of(trace, rules, online_schedules(trace, rules)), most_states, stop)
      .take();
}

PlacementCost least_cost_from(const ClusterState& state, int job, const std::stop_token& stop) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Hindsight none;
  none.cost = {kMost, kMost, kMost};
  return Branches(state, job, std::move(none), kMost, stop).take().cost;
}

Hindsight searched_hindsight(const JobTrace& trace, const PlacementRules& rules,
                             const std::vector<PlacementSchedule>& others,
                             const std::stop_token& stop) {
  std::vector<PlacementSchedule> starts = online_schedules(trace, rules);
  starts.insert(starts.end(), others.begin(), others.end());
  Hindsight best = best_of(trace, rules, starts);
  // Only what rejects as few can come out on top; searching costs more than the check.
  std::int64_t states = 0;
  for (const PlacementSchedule& start : starts) {
    if (placement_cost(trace, rules, start).rejected > best.cost.rejected) continue;
    for (const bool anew : {true, false}) {
      throw_if_stopped(stop);
      Lifetimes lifetimes(trace, rules, start);
      if (anew && !lifetimes.place_anew()) continue;
      states += lifetimes.lower_peak(stop);
      PlacementSchedule found = lifetimes.schedule();
      const PlacementCost cost = placement_cost(trace, rules, found);
      if (cost < best.cost) best.schedule = std::move(found), best.cost = cost;
    }
  }
  best.states = states;
  // Whoever may wait may lower the peak below the bound.
  best.exact =
      rules.patience == Duration{} && best.cost.rejected == 0 && best.cost.peak == best.peak_bound;
  return best;
}

}  // namespace trainyard
