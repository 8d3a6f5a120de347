#include "planners/schedules/schedule_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/random.h"
#include "planners/index.h"
#include "planners/schedules/exhaustive_search.h"
#include "planners/schedules/lane_patterns.h"
#include "planners/schedules/list_scheduling.h"
#include "planners/schedules/lower_bound.h"
#include "planners/schedules/named_lanes.h"
#include "planners/schedules/v_blocks.h"
#include "planners/schedules/weight_placement.h"

namespace trainyard {
namespace {

// How long the solver searches: total passes timed, and number of orders.
constexpr std::int64_t kMostPasses = 1'000'000;
constexpr std::int64_t kMostOrders = 64;
// With more passes than this a proof is seldom found. A first attempt, limited to few nodes,
// precedes the other searches.
constexpr std::size_t kMostPassesToProve = 192;
constexpr std::int64_t kQuickNodes = 2'000;
constexpr double kOnlyForMemory = -1e9;  // an overrun that no gap allows

class Solver {
 public:
  Solver(const ScheduleProblem& problem, const SolveOptions& options)
      : pipeline_(make_pipeline(problem)),
        options_(options),
        bound_(lower_bound(pipeline_, options.objective)),
        placer_(pipeline_),
        scheduler_(pipeline_),
        clock_(pipeline_) {}

  SolvedSchedule run(const ScheduleProblem& problem) {
    try_named();
    if (pipeline_.chunks == 1) try_warm_ups();
    if (!best_.steps.empty()) prove(std::min(kQuickNodes, options_.exhaustive_nodes));
    if (pipeline_.chunks == 2 && pipeline_.placement == Placement::V) try_blocks();
    try_lists();
    if (pipeline_.chunks == 1)
      climb_warm_ups();
    else
      climb_lists();
    prove(options_.exhaustive_nodes);
    SolvedSchedule solved;
    solved.order = order_of(pipeline_, best_);
    solved.timing = time_order(solved.order, problem);
    solved.lower_bound = Duration{optimal_ ? score_.first : bound_};
    solved.optimal = optimal_ || score_.first == bound_;
    solved.found_by = found_by_;
    solved.tried = tried_;
    return solved;
  }

 private:
  bool done() {
    if (options_.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the search for an order was stopped");
    return content() || passes_ >= kMostPasses || orders_ >= kMostOrders;
  }

  bool content() const {
    return optimal_ || score_.first <= std::max(bound_, options_.good_enough.count());
  }

  // Keeps the lanes if they are the best so far; returns whether none is better.
  template <class Name>
  bool consider(const Lanes& lanes, const std::vector<Ticks>& ends, Name&& name) {
    const OrderScore score = score_of(pipeline_, ends, options_.objective);
    if (score >= score_) return score == score_;
    score_ = score;
    best_ = lanes;
    found_by_ = name();
    return true;
  }

  void count(std::size_t passes) {
    ++tried_, ++orders_;
    passes_ += static_cast<std::int64_t>(passes);
  }

  template <class Name>
  bool place(const Travelling& travelling, double overrun, Name&& name) {
    count(best_.steps.size() + travelling.size() / 2);
    const Placed* placed = placer_.place(travelling, overrun);
    return placed != nullptr && consider(placed->lanes, placed->ends, name);
  }

  // Tries the named schedules as they are, and with their weight gradients moved.
  void try_named() {
    const std::vector<NamedLanes> all = named_lanes(pipeline_);
    for (const NamedLanes& named : all) {
      ++tried_;
      const std::vector<Ticks>* ends = clock_.time(named.lanes);
      if (ends != nullptr && fits(pipeline_, named.lanes))
        consider(named.lanes, *ends, [&] { return named.name; });
    }
    if (!pipeline_.split) return;
    for (const NamedLanes& named : all) {
      const Travelling travelling = travelling_of(pipeline_, named.lanes);
      for (const double overrun : {0.0, 0.5, 0.25}) {
        if (done()) return;
        place(travelling, overrun, [&] { return named.name + ", weight gradients moved"; });
      }
    }
  }

  // The number of microbatches that a device's limit can hold.
  int capacity(int d) const {
    const std::int64_t held = pipeline_.held[at(d)], limit = pipeline_.limit[at(d)];
    if (limit == kNoLimit || held == 0) return pipeline_.microbatches;
    return static_cast<int>(std::min<std::int64_t>(limit / held, pipeline_.microbatches));
  }

  std::string warm_up_text(const std::vector<std::int32_t>& forwards) const {
    return fmt::format("warm-up of {} to {} forwards", forwards.front(), forwards.back());
  }

  bool try_warm_up(std::vector<std::int32_t> forwards, double overrun) {
    for (int d = 0; d < pipeline_.devices; ++d)
      forwards[at(d)] = std::min(forwards[at(d)], capacity(d));
    // A device's warm-up is at most that of the device before it, which could not supply more.
    for (int d = 1; d < pipeline_.devices; ++d)
      forwards[at(d)] = std::min(forwards[at(d)], forwards[at(d - 1)]);
    if (!place(warm_up(pipeline_, forwards), overrun, [&] { return warm_up_text(forwards); }))
      return false;
    warm_up_ = std::move(forwards);
    return true;
  }

  void try_warm_ups() {
    const int p = pipeline_.devices, most = capacity(0);
    std::vector<int> tops;
    for (const int top : {most, most - 1, most - 2, p, 2 * p - 1, 2 * p, p + p / 4, p + p / 2,
                          p * 3 / 4, most * 7 / 8, most * 3 / 4, most / 2})
      if (1 <= top && top <= most && std::find(tops.begin(), tops.end(), top) == tops.end())
        tops.push_back(top);
    for (const int top : tops)
      for (const double lift : {0.0, 1.0, 0.5})
        for (const double overrun : {0.0, 0.5, kOnlyForMemory}) {
          if (done()) return;
          try_warm_up(line_of_warm_ups(pipeline_, top, lift), overrun);
          if (!pipeline_.split) break;
        }
  }

  // Changes the warm-up by one forward on a few neighbouring devices at a time.
  void climb_warm_ups() {
    if (warm_up_.empty()) return;
    const Random random(1);
    const int last = pipeline_.devices - 1;
    for (std::uint64_t i = 0; !done(); i += 4) {
      std::vector<std::int32_t> forwards = warm_up_;
      const auto from = static_cast<int>(random.between(i, 0, last)),
                 to = static_cast<int>(random.between(i + 1, from, last));
      const auto change = static_cast<std::int32_t>(2 * random.between(i + 2, 0, 1) - 1);
      for (int d = from; d <= to; ++d)
        forwards[at(d)] = std::clamp(forwards[at(d)] + change, 1, pipeline_.microbatches);
      constexpr std::array kOverruns{0.0, 0.25, 0.5, kOnlyForMemory};
      try_warm_up(std::move(forwards),
                  kOverruns[static_cast<std::size_t>(random.between(i + 3, 0, 3))]);
    }
  }

  // Tries a block's lanes as they are and, as priorities for list scheduling, without the fixed
  // cells.
  void try_block(const VBlock& block) {
    const std::vector<std::int32_t> cells = cells_of(pipeline_, block);
    if (cells.empty()) return;
    const auto name = [&] {
      return fmt::format("V block {} {} {} {}", block.forward_down, block.forward_up,
                         block.input_down, block.input_up);
    };
    ListPolicy policy;
    policy.nominal = cells;
    policy.period = kBlockPeriod;
    policy.under_way.resize(at(pipeline_.stages));
    for (int s = 0; s < pipeline_.stages; ++s) {
      const std::size_t i = at(2 * s);
      policy.under_way[at(s)] = std::min(
          pipeline_.microbatches, (cells[i + kInput] - cells[i + kForward]) / kBlockPeriod + 1);
    }
    fit(policy.under_way);
    for (const bool steady : {!pipeline_.split, pipeline_.split}) {
      if (done()) return;
      const Lanes lanes = compacted(pipeline_, cells, steady);
      const auto compact_name = [&] { return name() + ", compacted"; };
      count(lanes.steps.size());
      const std::vector<Ticks>* ends = clock_.time(lanes);
      if (ends != nullptr && fits(pipeline_, lanes)) consider(lanes, *ends, compact_name);
      if (pipeline_.split && !done()) place(travelling_of(pipeline_, lanes), 0, compact_name);
    }
    if (!done()) place(repeated(pipeline_, cells), 0, name);
    if (!done()) try_list(policy, name);
  }

  void try_blocks() {
    // The blocks of V-Min, V-Half and 1F1B on a V come first, then others by how often they are the
    // best.
    constexpr std::array kBlocks{
        VBlock{2, 1, 2, 1, 4, 2}, VBlock{1, 1, 1, 1, 1, 1}, VBlock{1, 1, 2, 1, 1, 1},
        VBlock{1, 1, 1, 2, 2, 1}, VBlock{1, 1, 1, 2, 4, 1}, VBlock{1, 3, 2, 3, 4, 1},
        VBlock{1, 2, 1, 3, 2, 1}, VBlock{1, 2, 3, 3, 4, 1}, VBlock{2, 3, 1, 4, 1, 1}};
    // A whole backward takes two cells, which suits this block.
    if (!pipeline_.split) try_block(kBlocks[2]);
    for (const VBlock& block : kBlocks) {
      if (done()) return;
      try_block(block);
    }
  }

  // Sets the microbatches in flight of each stage: the number that keeps it busy from a forward to
  // the return of its gradient, times `part`, within the device's limit.
  std::vector<std::int32_t> under_way(double part) const {
    const Pipeline& p = pipeline_;
    const Heads heads = heads_of(p);
    Ticks cycle = 1;
    for (const Ticks work : p.work) cycle = std::max(cycle, work / p.microbatches);
    std::vector<std::int32_t> counts;
    for (int s = 0; s < p.stages; ++s) {
      const Ticks away = heads.input[at(s)] + p.time[kInput][at(s)] - heads.forward[at(s)];
      const double wanted = part * static_cast<double>(away) / static_cast<double>(cycle) + 0.999;
      counts.push_back(
          static_cast<std::int32_t>(std::clamp(wanted, 1.0, static_cast<double>(p.microbatches))));
    }
    fit(counts);
    return counts;
  }

  void fit(std::vector<std::int32_t>& counts) const {
    const Pipeline& p = pipeline_;
    for (int d = 0; d < p.devices; ++d) {
      const auto count = [&](int c) -> std::int32_t& { return counts[at(p.stage_at(d, c))]; };
      std::int64_t sum = 0;
      for (int c = 0; c < p.chunks; ++c) sum += count(c) * p.held[at(p.stage_at(d, c))];
      while (sum > p.limit[at(d)]) {
        int most = -1;
        for (int c = 0; c < p.chunks; ++c)
          if (count(c) > 1 && p.held[at(p.stage_at(d, c))] > 0 &&
              (most < 0 || count(c) > count(most)))
            most = c;
        --count(most);
        sum -= p.held[at(p.stage_at(d, most))];
      }
    }
  }

  template <class Name>
  bool try_list(const ListPolicy& policy, Name&& name) {
    count(2 * best_.steps.size() + 1);
    const ListSchedule& found = scheduler_.run(policy);
    bool better = consider(found.lanes, found.ends, name);
    if (pipeline_.split && !done())
      better = place(travelling_of(pipeline_, found.lanes), 0, name) || better;
    if (better) policy_ = policy;
    return better;
  }

  void try_lists() {
    for (const double part : {1.125, 1.5, 0.875, 2.0, 2.75})
      for (const int kind : {2, 0, 3}) {
        // List scheduling finds an order whatever the limits are.
        if (!best_.steps.empty() && done()) return;
        ListPolicy policy;
        policy.under_way = under_way(part);
        policy.patience = (kind & 2) != 0 ? 0.5 : 0;
        policy.alternate = (kind & 1) != 0;
        try_list(policy, [&] { return fmt::format("list scheduling, {} under way", part); });
        if (!pipeline_.split && kind == 0) break;
      }
  }

  // Changes the microbatches in flight by one on a few neighbouring stages at a time.
  void climb_lists() {
    if (policy_.under_way.empty()) return;
    const Random random(2);
    const int last = pipeline_.stages - 1;
    for (std::uint64_t i = 0; !done(); i += 5) {
      ListPolicy policy = policy_;
      const auto from = static_cast<int>(random.between(i, 0, last)),
                 to = static_cast<int>(random.between(i + 1, from, last));
      const auto change = static_cast<std::int32_t>(2 * random.between(i + 2, 0, 1) - 1);
      for (int s = from; s <= to; ++s)
        policy.under_way[at(s)] =
            std::clamp(policy.under_way[at(s)] + change, 1, pipeline_.microbatches);
      fit(policy.under_way);
      policy.patience = 0.25 * static_cast<double>(random.between(i + 3, 0, 3));
      policy.alternate = random.between(i + 4, 0, 1) == 1;
      try_list(policy, [&] { return found_by_; });
    }
  }

  void prove(std::int64_t nodes) {
    if (content() || best_.steps.size() > kMostPassesToProve) return;
    Exhausted found =
        exhaust(pipeline_, options_.objective, score_.first, bound_, nodes, options_.stop);
    tried_ += found.nodes;
    if (found.lanes) {
      best_ = std::move(*found.lanes);
      score_ = score_of(pipeline_, *clock_.time(best_), options_.objective);
      found_by_ = "exhaustive search";
    }
    optimal_ = found.complete;
  }

  Pipeline pipeline_;
  const SolveOptions& options_;
  Ticks bound_;
  WeightPlacer placer_;
  ListScheduler scheduler_;
  LaneClock clock_;

  OrderScore score_;
  Lanes best_;
  std::string found_by_;
  bool optimal_ = false;
  std::int64_t tried_ = 0, passes_ = 0, orders_ = 0;

  std::vector<std::int32_t> warm_up_;  // of the best order found by warm-ups
  ListPolicy policy_;                  // of the best order found by list scheduling
};

}  // namespace

SolvedSchedule solve(const ScheduleProblem& problem, const SolveOptions& options) {
  return Solver(problem, options).run(problem);
}

}  // namespace trainyard
