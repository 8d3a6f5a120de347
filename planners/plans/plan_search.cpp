#include "planners/plans/plan_search.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/units_text.h"
#include "core/cluster/mixed.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/longest_first.h"
#include "planners/plans/plan_pricer.h"
#include "planners/plans/threads.h"

namespace trainyard {
namespace {

// The figures by which plans are compared; smaller is better in each.
struct Figures {
  double time = 0, memory = 0, money = 0;
  bool within(const Figures& other) const {  // no worse in any figure
    return time <= other.time && memory <= other.memory && money <= other.money;
  }
};

Figures figures_of_plan(Duration step, Bytes memory, std::int64_t devices) {
  const auto time = static_cast<double>(step.count());
  return {time, static_cast<double>(memory.value), time * static_cast<double>(devices)};
}

double objective(const Figures& f, PlanObjective by) {
  return by == PlanObjective::Time ? f.time : by == PlanObjective::Memory ? f.memory : f.money;
}

// Appends the bytes of a plain value, so that ranks can exchange it.
template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T take(const std::string& bytes, std::size_t& at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

class PlanSearch {
 public:
  PlanSearch(const PlanSpace& space, const SearchOptions& options)
      : space_(space),
        options_(options),
        costs_(options.cost),
        ranks_(options.ranks != nullptr ? *options.ranks : one_),
        devices_knob_(space.knob("devices")),
        limit_(memory_limit(space.base().cluster, options.spare)) {}

  SearchResult run() {
    const Instant begun = now();
    price_all();
    estimate_best_first();
    result_.seconds = to_seconds(now() - begun);
    result_.stopped = result_.stopped || options_.stop.stop_requested();
    simulate_top();
    settle_fates();
    return std::move(result_);
  }

 private:
  Instant now() const { return options_.clock != nullptr ? options_.clock->now() : Instant{}; }

  std::int64_t devices(PlanId id) const {
    return space_.number(devices_knob_, space_.digit(id, devices_knob_));
  }

  Bytes limit(PlanId id, std::uint16_t device) const {
    if (!is_mixed(space_.base().cluster)) return limit_;
    return memory_limit(space_.scenario(id), device, options_.spare);
  }

  void price_all() {
    PricerOptions by;
    by.spare = options_.spare;
    by.part = ranks_.rank(), by.parts = ranks_.count();
    by.stop = options_.stop;
    if (options_.progress)
      by.progress = [&](std::uint64_t tried) {
        progress_.tried = tried;
        options_.progress(progress_);
      };
    PriceTable mine = price_space(space_, costs_, by);
    if (ranks_.count() == 1) {
      result_.ids = std::move(mine.ids), result_.plans = std::move(mine.plans);
    } else {
      gather(mine);
    }
    result_.tried = progress_.tried = progress_.total = result_.ids.size();
  }

  void gather(const PriceTable& mine) {
    std::string bytes;
    for (std::size_t i = 0; i < mine.ids.size(); ++i)
      put(bytes, mine.ids[i]), put(bytes, mine.plans[i]);
    std::vector<std::pair<PlanId, PricedPlan>> all;
    for (const std::string& part : ranks_.all_gather(bytes))
      for (std::size_t at = 0; at < part.size();) {
        const auto id = take<PlanId>(part, at);
        all.emplace_back(id, take<PricedPlan>(part, at));
      }
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [id, plan] : all) result_.ids.push_back(id), result_.plans.push_back(plan);
  }

  // Estimates plans in the order of their bounds, so that the first exact figures rule out most of
  // the rest. Batches have the same size for any number of threads and ranks, so the set of plans
  // ruled out never depends on them.
  void estimate_best_first() {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < result_.plans.size(); ++i)
      if (result_.plans[i].fate == Fate::Untried) open.push_back(i);
    std::vector<double> key(result_.plans.size());
    for (const std::uint32_t i : open) key[i] = objective(bound(i), options_.objective);
    std::stable_sort(open.begin(), open.end(), [&](std::uint32_t a, std::uint32_t b) {
      return key[a] != key[b] ? key[a] < key[b] : result_.plans[a].step < result_.plans[b].step;
    });
    constexpr std::size_t kBatch = 64;
    std::vector<std::uint32_t> batch;
    for (std::size_t i = 0; i < open.size() && !options_.stop.stop_requested();) {
      batch.clear();
      for (; i < open.size() && batch.size() < kBatch; ++i)
        if (worth_estimating(open[i])) batch.push_back(open[i]);
      estimate(batch);
    }
    for (const std::uint32_t i : open)
      if (result_.plans[i].fate == Fate::Untried) {
        if (options_.stop.stop_requested() && worth_estimating(i)) continue;
        result_.plans[i].fate = Fate::Dominated;
      }
  }

  Figures bound(std::uint32_t i) const {
    const PricedPlan& plan = result_.plans[i];
    return figures_of_plan(plan.step, plan.memory, devices(result_.ids[i]));
  }

  std::size_t wanted() const {
    return std::max({std::size_t{1}, options_.top, 4 * options_.simulate});
  }

  bool worth_estimating(std::uint32_t i) const {
    const Figures f = bound(i);
    const double mine = objective(f, options_.objective);
    if (best_.size() < wanted() || mine < best_.back().first) {
      // Beyond the list proper, keeps only what simulation may still rank first.
      constexpr double kMayOvertake = 1.04;
      if (best_.size() < std::max(std::size_t{1}, options_.top) ||
          mine < best_[std::max(std::size_t{1}, options_.top) - 1].first ||
          (options_.simulate > 0 && mine <= kMayOvertake * best_.front().first))
        return true;
    }
    return std::none_of(front_.begin(), front_.end(),
                        [&](const Candidate& c) { return of(c).within(f); });
  }

  static Figures of(const Candidate& c) { return figures_of_plan(c.step, c.memory, c.devices); }

  // Work is divided over ranks, then over threads; results are entered in the batch's order.
  void estimate(const std::vector<std::uint32_t>& batch) {
    if (batch.empty()) return;
    std::vector<ExactPrice> prices(batch.size());
    const auto count = static_cast<std::size_t>(ranks_.count()),
               mine = static_cast<std::size_t>(ranks_.rank());
    tbb::parallel_for(std::size_t{0}, batch.size(), [&](std::size_t i) {
      if (i % count != mine) return;
      const Scenario s = space_.scenario(result_.ids[batch[i]]);
      prices[i] = exact_price(s, costs_.of(s));
    });
    if (count > 1) exchange(prices);
    for (std::size_t i = 0; i < batch.size(); ++i) enter(batch[i], prices[i]);
    result_.estimated += batch.size();
    progress_.fitting = result_.fitting;
    if (options_.progress) {
      progress_.front = front_;
      options_.progress(progress_);
    }
  }

  struct Sent {
    Duration step;
    Bytes memory;
    std::int64_t device;
    Breakdown device_time;
    Fate illegal;
  };

  void exchange(std::vector<ExactPrice>& prices) {
    const auto count = static_cast<std::size_t>(ranks_.count());
    std::string bytes;
    for (std::size_t i = static_cast<std::size_t>(ranks_.rank()); i < prices.size(); i += count)
      put(bytes, Sent{prices[i].step, prices[i].memory, prices[i].device, prices[i].device_time,
                      prices[i].illegal});
    const std::vector<std::string> all = ranks_.all_gather(bytes);
    for (std::size_t r = 0; r < count; ++r) {
      std::size_t at = 0;
      for (std::size_t i = r; i < prices.size(); i += count) {
        const auto sent = take<Sent>(all[r], at);
        prices[i].step = sent.step, prices[i].memory = sent.memory;
        prices[i].device = static_cast<std::uint16_t>(sent.device);
        prices[i].device_time = sent.device_time;
        prices[i].illegal = sent.illegal;
      }
    }
  }

  void enter(std::uint32_t i, const ExactPrice& price) {
    PricedPlan& plan = result_.plans[i];
    if (price.illegal != Fate::Untried) {
      plan = {{}, {}, 0, price.illegal, false};
      return;
    }
    plan.step = price.step, plan.memory = price.memory, plan.device = price.device;
    plan.bound = false;
    plan.fate = price.memory > limit(result_.ids[i], price.device) ? Fate::Memory : Fate::Dominated;
    if (plan.fate == Fate::Memory) return;
    Candidate c;
    c.id = result_.ids[i];
    c.step = price.step, c.memory = price.memory, c.device = price.device;
    c.devices = devices(c.id);
    c.money = step_money(with_devices(space_.base().cluster, c.devices), c.step);
    c.device_time = price.device_time;
    enter_front(c);
    enter_best(c);
  }

  void enter_front(const Candidate& c) {
    const Figures mine = of(c);
    if (std::any_of(front_.begin(), front_.end(),
                    [&](const Candidate& f) { return of(f).within(mine); }))
      return;
    std::erase_if(front_, [&](const Candidate& f) { return mine.within(of(f)); });
    front_.push_back(c);
    std::sort(front_.begin(), front_.end(), before);
  }

  // Returns whether candidate a is listed before b: by time, memory, money, id.
  static bool before(const Candidate& a, const Candidate& b) {
    const Figures x = of(a), y = of(b);
    return std::tie(x.time, x.memory, x.money, a.id) < std::tie(y.time, y.memory, y.money, b.id);
  }

  void enter_best(const Candidate& c) {
    const double mine = objective(of(c), options_.objective);
    // A plan that differs only in the placement of ranks and has the same cost is no further
    // choice.
    if (std::any_of(best_.begin(), best_.end(), [&](const auto& have) {
          return have.second.step == c.step && have.second.memory == c.memory &&
                 have.second.devices == c.devices;
        }))
      return;
    const auto later = [&](const std::pair<double, Candidate>& have) {
      return have.first != mine ? have.first < mine : before(have.second, c);
    };
    const auto at = std::find_if_not(best_.begin(), best_.end(), later);
    best_.insert(at, {mine, c});
    if (best_.size() > wanted()) best_.pop_back();
  }

  void simulate_top() {
    for (const auto& [value, candidate] : best_) result_.best.push_back(candidate);
    if (!options_.simulator || options_.simulate == 0 || result_.best.empty() || result_.stopped)
      return finish_best();
    progress_.simulating = true;
    if (options_.progress) options_.progress(progress_);
    constexpr double kMayOvertake = 1.04;
    const double first = best_.front().first;
    std::size_t count = 0;
    while (count < best_.size() &&
           (count < options_.simulate || best_[count].first <= kMayOvertake * first))
      ++count;
    std::vector<SimulatedPlan> times(count);
    const auto parts = static_cast<std::size_t>(ranks_.count()),
               mine = static_cast<std::size_t>(ranks_.rank());
    std::vector<double> costs;
    for (std::size_t i = 0; i < count; ++i) {
      const Scenario one = space_.scenario(result_.best[i].id);
      costs.push_back(simulation_cost(one.plan, one.cluster));
    }
    const std::vector<std::size_t> rank_of = spread(costs, parts);
    run_longest_first(costs, options_.threads, [&](std::size_t i) {
      if (rank_of[i] != mine || options_.stop.stop_requested()) return;
      times[i] = options_.simulator(space_.scenario(result_.best[i].id));
    });
    if (parts > 1) times = exchange_times(times);
    for (std::size_t i = 0; i < count; ++i) {
      result_.best[i].simulated = times[i].step;
      if (times[i].step > Duration{}) ++result_.simulated;
    }
    drop_what_does_not_fit(times, count);
    if (options_.objective != PlanObjective::Memory)
      std::stable_sort(
          result_.best.begin(), result_.best.begin() + static_cast<std::ptrdiff_t>(count),
          [&](const Candidate& a, const Candidate& b) { return ranked(a) < ranked(b); });
    finish_best();
  }

  double ranked(const Candidate& c) const {
    return objective(figures_of_plan(c.time(), c.memory, c.devices), options_.objective);
  }

  // Drops plans that the closed form took to be smaller than they are.
  void drop_what_does_not_fit(const std::vector<SimulatedPlan>& times, std::size_t& count) {
    std::vector<Candidate> kept;
    for (std::size_t i = 0; i < result_.best.size(); ++i) {
      const Candidate& c = result_.best[i];
      if (i >= times.size() || times[i].memory <= limit(c.id, times[i].device)) {
        kept.push_back(c);
        continue;
      }
      --count;
      PricedPlan& plan = plan_of(c.id);
      plan.fate = Fate::Memory, plan.step = times[i].step, plan.memory = times[i].memory;
      std::erase_if(front_, [&](const Candidate& f) { return f.id == c.id; });
    }
    result_.best = std::move(kept);
  }

  PricedPlan& plan_of(PlanId id) {
    const auto at = std::lower_bound(result_.ids.begin(), result_.ids.end(), id);
    return result_.plans[static_cast<std::size_t>(at - result_.ids.begin())];
  }

  std::vector<SimulatedPlan> exchange_times(const std::vector<SimulatedPlan>& mine) {
    std::string bytes;
    for (const SimulatedPlan& one : mine) put(bytes, one);
    std::vector<SimulatedPlan> all(mine.size());
    for (const std::string& part : ranks_.all_gather(bytes)) {
      std::size_t at = 0;
      for (SimulatedPlan& one : all) {
        const auto sent = take<SimulatedPlan>(part, at);
        if (sent.step > Duration{}) one = sent;
      }
    }
    return all;
  }

  void finish_best() {
    if (result_.best.size() > options_.top)
      result_.best.resize(std::max<std::size_t>(1, options_.top));
  }

  void settle_fates() {
    result_.front = std::move(front_);
    for (const Candidate& c : result_.front) plan_of(c.id).fate = Fate::Front;
    if (!result_.best.empty()) plan_of(result_.best.front().id).fate = Fate::Best;
    result_.fates.fill(0);
    result_.fitting = 0;
    for (const PricedPlan& plan : result_.plans) {
      ++result_.fates[static_cast<std::size_t>(plan.fate)];
      if (fits(plan.fate)) ++result_.fitting;
    }
  }

  const PlanSpace& space_;
  const SearchOptions& options_;
  CostModels costs_;
  OneRank one_;
  Ranks& ranks_;
  std::size_t devices_knob_;
  Bytes limit_;
  SearchResult result_;
  SearchProgress progress_;
  std::vector<Candidate> front_;
  std::vector<std::pair<double, Candidate>> best_;  // by objective, at most wanted()
};

}  // namespace

std::string_view to_string(PlanObjective by) {
  return by == PlanObjective::Time ? "time" : by == PlanObjective::Memory ? "memory" : "money";
}

const PricedPlan* SearchResult::find(PlanId id) const {
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  if (at == ids.end() || *at != id) return nullptr;
  return &plans[static_cast<std::size_t>(at - ids.begin())];
}

SearchResult search(const PlanSpace& space, const SearchOptions& options) {
  SearchResult result;
  tbb::task_arena arena(threads_at_once(options.threads));
  arena.execute([&] { result = PlanSearch(space, options).run(); });
  return result;
}

SearchResult search_offloading(PlanSpace& space, SearchOptions options) {
  SearchResult found = search(space, options);
  if (!found.best.empty() || found.stopped) return found;
  std::optional<PlanSpace> wider = space.offloading();
  if (!wider) return found;
  options.progress = {};
  SearchResult more = search(*wider, options);
  if (more.best.empty()) {
    found.stopped = more.stopped;
    found.seconds += more.seconds;
    return found;
  }
  more.seconds += found.seconds;
  space = *std::move(wider);
  return more;
}

}  // namespace trainyard
