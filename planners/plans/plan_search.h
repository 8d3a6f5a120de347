// Finds the best plans of a space and what became of every other plan. It prices each plan with
// tables (planners/plans/plan_pricer.h), prunes by a lower bound of the time so that the optimum is
// never lost, estimates the remaining plans exactly, and can simulate the top of the list. The
// answer is the same for any number of threads or ranks.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/ranks.h"
#include "core/cost/cost_model.h"
#include "core/timeline/metrics.h"
#include "planners/plans/fate.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

enum class PlanObjective : std::uint8_t { Time, Memory, Money };
std::string_view to_string(PlanObjective);  // "time"

/// The result of a simulation: the step, and the memory reserved on the fullest device.
struct SimulatedPlan {
  Duration step{};
  Bytes memory{};
  std::uint16_t device = 0;  // the pipeline rank of that device
};

/// A plan that fits, with its exact estimate.
struct Candidate {
  PlanId id = 0;
  Duration step{};           // by the closed form
  Duration simulated{};      // as SearchOptions::simulator says; 0 = not simulated
  Bytes memory{};            // reserved on the fullest device
  std::uint16_t device = 0;  // the pipeline rank of that device
  std::int64_t devices = 1;  // number of devices the plan uses
  double money = 0;          // US dollars of one step; 0 where the device has no price
  Breakdown device_time;     // by the closed form, summed over all pipeline ranks
  /// The time by which it is ranked.
  Duration time() const { return simulated > Duration{} ? simulated : step; }
  friend bool operator==(const Candidate& a, const Candidate& b) {
    return a.id == b.id && a.time() == b.time() && a.step == b.step && a.memory == b.memory &&
           a.device == b.device && a.devices == b.devices && a.money == b.money &&
           a.device_time.sum() == b.device_time.sum();
  }
};

/// A snapshot of a running search. `front` contains exact estimates only; it only ever moves
/// towards faster and smaller plans.
struct SearchProgress {
  std::uint64_t tried = 0, total = 0;  // plans; total is known once the space has been enumerated
  std::uint64_t fitting = 0;
  std::vector<Candidate> front;
  bool simulating = false;
};

struct SearchOptions {
  PlanObjective objective = PlanObjective::Time;
  std::size_t top = 10;  // length of SearchResult::best, at least 1
  Bytes spare{};         // memory to leave free on every device, >= 0
  int threads = 0;       // 0 = one per core
  // This many candidates of the list (and all within 4 % of the first, up to four times as many)
  // are simulated and ranked by the simulated time.
  std::size_t simulate = 0;
  /// Simulates a scenario at order grain, or at op grain if waves share a device; empty = nothing
  /// is simulated. A plan that turns out not to fit leaves the list. Called from several threads.
  std::function<SimulatedPlan(const Scenario&)> simulator = {};
  /// Called between batches, from one thread at a time.
  std::function<void(const SearchProgress&)> progress = {};
  /// Makes the cost model of a scenario of the space; empty = physical_cost_model(). Called once
  /// for each software.
  std::function<std::unique_ptr<CostModel>(const Scenario&)> cost = {};
  const Clock* clock = nullptr;  // measures `seconds`; null = 0
  Ranks* ranks = nullptr;        // the ranks that share the work; null = this process alone
  std::stop_token stop = {};
};

struct SearchResult {
  std::uint64_t tried = 0;      // each plan counts once
  std::uint64_t fitting = 0;    // those of them that fit
  std::uint64_t estimated = 0;  // by the whole closed form, not by tables and bounds
  std::uint64_t simulated = 0;
  double seconds = 0;                         // wall-clock time of pricing, without simulation
  bool stopped = false;                       // whether it ended before all plans were tried
  std::array<std::uint64_t, kFates> fates{};  // counts by fate; they add up to `tried`
  std::vector<Candidate> best;                // by objective; ties by the other figures, then by id
  std::vector<Candidate> front;   // of time, memory and (if `devices` is open) money; by time
  std::vector<PlanId> ids;        // of every plan tried, ascending
  std::vector<PricedPlan> plans;  // parallel to ids
  /// Null if the plan was not tried.
  const PricedPlan* find(PlanId) const;
};

/// Throws Error{InvalidInput} if the base cannot be searched at all (no layers, an invalid
/// cluster). When stopped, it returns what was found so far with `stopped` set. It is not an error
/// if no plan fits.
SearchResult search(const PlanSpace&, const SearchOptions& = {});

/// Searches like search(). Where no plan of the space fits, those of space.offloading() are
/// searched too, and if one of them fits, `space` becomes that one and the result is of it.
/// Progress is of the space as it is given. A plan that fits is found as fast as by search(). Where
/// one of the two searches is stopped, so is the result.
SearchResult search_offloading(PlanSpace& space, SearchOptions options);

/// Explains why a plan of the space lost (or won) in a search, by pricing it anew.
Reason explain(const PlanSpace&, const SearchResult&, PlanId, const SearchOptions& = {});

}  // namespace trainyard
