// Finds the best plans of a space and what became of every other: prices each by closed form
// (planners/plans/plan_pricer.h), prunes by a lower bound of its time that keeps the proof,
// estimates exactly what is left, and lets the top of the list be simulated. The same answer for
// any number of threads or ranks.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/cost/cost_model.h"
#include "core/timeline/metrics.h"
#include "planners/plans/fate.h"
#include "planners/plans/plan_space.h"
#include "planners/plans/ranks.h"

namespace trainyard {

enum class PlanObjective : std::uint8_t { Time, Memory, Money };
std::string_view to_string(PlanObjective);  // "time"

/// What a simulation finds: its step, and what is reserved on the fullest device.
struct SimulatedPlan {
  Duration step{};
  Bytes memory{};
};

/// A plan that fits, estimated exactly.
struct Candidate {
  PlanId id = 0;
  Duration step{};           // closed form
  Duration simulated{};      // order grain; 0 = not simulated
  Bytes memory{};            // reserved on the fullest device
  std::uint16_t device = 0;  // that one
  std::int64_t devices = 1;  // that it uses
  double money = 0;          // US dollars of one step; 0 where the device has no price
  Breakdown device_time;     // closed form, of all pipeline ranks together
  /// What it is ranked by.
  Duration time() const { return simulated > Duration{} ? simulated : step; }
  friend bool operator==(const Candidate& a, const Candidate& b) {
    return a.id == b.id && a.time() == b.time() && a.step == b.step && a.memory == b.memory &&
           a.device == b.device && a.devices == b.devices && a.money == b.money &&
           a.device_time.sum() == b.device_time.sum();
  }
};

/// While it searches: what there is so far. `front` is made of exact estimates; it only ever moves
/// towards faster and smaller.
struct SearchProgress {
  std::uint64_t tried = 0, total = 0;  // plans; total is known once the space was walked
  std::uint64_t fitting = 0;
  std::vector<Candidate> front;
  bool simulating = false;
};

struct SearchOptions {
  PlanObjective objective = PlanObjective::Time;
  std::size_t top = 10;      // candidates of `best`, at least 1
  Bytes spare{};             // memory to be left over on every device, >= 0
  int threads = 0;           // 0 = one a core
  std::size_t simulate = 0;  // so many of the list (and whatever is within 4 % of the first, up to
                             // four times as many) are simulated and ranked by that
  /// A scenario at order grain; empty = nothing is simulated. A plan that turns out not to fit
  /// leaves the list. Called from several threads.
  std::function<SimulatedPlan(const Scenario&)> simulator = {};
  /// Called between batches, from one thread at a time.
  std::function<void(const SearchProgress&)> progress = {};
  /// The cost model of a scenario of the space; empty = physical_cost_model(). Called once a
  /// software.
  std::function<std::unique_ptr<CostModel>(const Scenario&)> cost = {};
  const Clock* clock = nullptr;  // for `seconds`; null = 0
  Ranks* ranks = nullptr;        // that share the work; null = this process alone
  std::stop_token stop = {};
};

struct SearchResult {
  std::uint64_t tried = 0;      // plans, each once
  std::uint64_t fitting = 0;    // of them
  std::uint64_t estimated = 0;  // by the whole closed form; the others by tables and bounds
  std::uint64_t simulated = 0;
  double seconds = 0;                         // wall, of pricing (without simulation)
  bool stopped = false;                       // before all was tried
  std::array<std::uint64_t, kFates> fates{};  // counts by fate; they add up to `tried`
  std::vector<Candidate> best;                // by objective; ties by the other figures, then by id
  std::vector<Candidate> front;   // of time, memory and (where `devices` is open) money; by time
  std::vector<PlanId> ids;        // of every plan tried, rising
  std::vector<PricedPlan> plans;  // beside ids
  /// Null when the plan was not tried.
  const PricedPlan* find(PlanId) const;
};

/// Throws Error{InvalidInput} when the base cannot be searched at all (no layers, a wrong cluster);
/// a stop leaves what was found so far, with `stopped`. That no plan fits is a result.
SearchResult search(const PlanSpace&, const SearchOptions& = {});

/// Why a plan of the space lost (or won), against a search's result; prices it anew.
Reason explain(const PlanSpace&, const SearchResult&, PlanId, const SearchOptions& = {});

}  // namespace trainyard
