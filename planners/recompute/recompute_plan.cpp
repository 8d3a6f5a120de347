#include "planners/recompute/recompute_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/cluster/mixed.h"
#include "core/estimate/estimate.h"
#include "core/lowering/held_bytes.h"
#include "core/lowering/phases.h"
#include "core/lowering/stage_copies.h"
#include "core/memory/process_bytes.h"
#include "core/methods/settings/settings.h"
#include "planners/index.h"
#include "planners/recompute/policy_mix.h"
#include "planners/recompute/recompute_layer.h"

namespace trainyard {
namespace {

constexpr int kMostRounds = 4;
constexpr LayerPolicy::Kind kNamed[] = {LayerPolicy::Kind::None, LayerPolicy::Kind::Selective,
                                        LayerPolicy::Kind::Op, LayerPolicy::Kind::Full};

// One policy of one kind of layer, as priced for one layer and one microbatch.
struct PolicyCandidate {
  LayerPolicy policy;
  int body = 0;  // of the workload
  Bytes until_input{}, until_weight{};
  Bytes rebuilt_for_weight{};  // under a split backward: rebuilt, and held until the weight pass
  Bytes while_backward{};      // rebuilt and worked with, at most
  Duration again{};            // beside what policy none takes
};

// Layers of one kind in one stage.
struct LayerGroup {
  std::size_t stage = 0;
  int block = 0, layers = 0;
};

// How many of a group's layers take each candidate of their kind; by group.
using Counts = std::vector<std::vector<int>>;

// The most microbatches that a stage holds until their input pass, from there until their weight
// pass, and both together; each figure is that of its own fullest moment.
struct MostHeld {
  int live = 0, for_weight = 0, both = 0;
};

struct Priced {
  StepEstimate estimate;
  Bytes margin{};  // limit less what the fullest device reserves
  std::size_t fullest = 0;
};

bool is_layer(const Workload& w, int block) { return w.scenario.model.blocks[at(block)].layer; }

Workload without_recompute(Scenario scenario) {
  choice(scenario.plan, "recompute").params = {{"policy", std::string("none")}};
  return prepare(scenario);
}

class RecomputeSearch {
 public:
  RecomputeSearch(const Scenario& scenario, const CostModel& cost, const RecomputeOptions& options)
      : w_(without_recompute(scenario)),
        cost_(cost),
        options_(options),
        process_(cost.process_memory(w_.scenario.cluster.device)),
        memory_(w_.scenario.cluster.device.memory.value),
        limit_(options.limit.value > 0 ? options.limit : memory_),
        plain_runs_(w_.runs) {
    for (std::size_t s = 0; s < w_.runs.size(); ++s)
      for (const Workload::Run& run : w_.runs[s])
        if (const int block = w_.bodies[at(run.body)].block; is_layer(w_, block))
          groups_.push_back({s, block, run.count});
    list_candidates();
    price_candidates();
    plain_ = price(all_of(LayerPolicy::Kind::None)).estimate;
    count_most_held();
  }

  RecomputeChoice run() {
    for (const Bytes limit : limits()) {
      // Where moments and copies of a stage differ, a mix counts a little less than is held.
      Bytes within = limit;
      for (int round = 0; round < kMostRounds; ++round) {
        const Bytes margin = try_mix(within);
        if (margin.value >= 0) break;
        within += margin;
      }
    }
    for (const LayerPolicy::Kind kind : kNamed) {
      const Counts counts = all_of(kind);
      consider(counts, to_text(LayerPolicy{kind}) + " everywhere", {});
    }
    if (!found_) refuse();
    best_.devices.resize(at(w_.scenario.plan.mesh.pp));
    return best_;
  }

 private:
  // --- policies ---

  void list_candidates() {
    for (const LayerGroup& group : groups_) {
      std::vector<PolicyCandidate>& list = candidates_[group.block];
      if (!list.empty()) continue;
      for (const LayerPolicy::Kind kind : kNamed) add(list, group.block, {kind});
      const Body& whole = w_.bodies[at(list.front().body)];
      add_kept_sets(list, group.block, kept_sets(layer_nodes(w_, whole, cost_)));
    }
  }

  void add(std::vector<PolicyCandidate>& list, int block, LayerPolicy policy) {
    PolicyCandidate one;
    Body body = layer_body(w_, block, policy, layer_strategies(w_.scenario).front());
    const LayerHeld held = layer_held(body);
    one.until_input = held.until_input, one.until_weight = held.until_weight;
    if (splits_backward(w_)) one.rebuilt_for_weight = held.recomputed_for_weight;
    one.while_backward = body.held.rebuilt + body.held.backward;
    one.policy = std::move(policy);
    one.body = static_cast<int>(w_.bodies.size());
    w_.bodies.push_back(std::move(body));
    list.push_back(std::move(one));
  }

  // Evenly over the front's lower hull: what mixes of layers are made of.
  void add_kept_sets(std::vector<PolicyCandidate>& list, int block, std::vector<KeptSet> sets) {
    std::vector<KeptSet> hull;
    const auto slope = [](const KeptSet& a, const KeptSet& b) {
      return static_cast<double>((a.time - b.time).count()) /
             static_cast<double>((b.bytes - a.bytes).value);
    };
    for (KeptSet& set : sets) {
      while (hull.size() > 1 &&
             slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), set))
        hull.pop_back();
      hull.push_back(std::move(set));
    }
    const std::size_t most = static_cast<std::size_t>(std::max(0, options_.kept_sets));
    const std::size_t shown = std::min(most, hull.size());
    const std::vector<Node>& nodes = w_.scenario.model.blocks[at(block)].graph.nodes;
    for (std::size_t i = 0; i < shown; ++i) {
      LayerPolicy policy{LayerPolicy::Kind::Keep};
      for (const int n : hull[shown > 1 ? i * (hull.size() - 1) / (shown - 1) : 0].nodes)
        policy.kept.push_back(nodes[at(n)].name);
      std::sort(policy.kept.begin(), policy.kept.end());
      add(list, block, std::move(policy));
    }
  }

  // Each alone in a stage of as many layers as stages have: what the host hides is shared by them.
  void price_candidates() {
    int most = 1;
    for (const LayerGroup& group : groups_) most = std::max(most, group.layers);
    Workload each = w_;
    each.runs.clear();
    for (const auto& [block, list] : candidates_)
      for (const PolicyCandidate& one : list) each.runs.push_back({{one.body, most, 0}});
    if (each.runs.empty()) return;
    sum_stages(each);
    const std::vector<StageTime> times = stage_times(each, cost_);
    std::size_t next = 0;
    for (auto& [block, list] : candidates_) {
      const auto backward = [&](std::size_t i) {
        const StageTime& t = times[i];
        return splits_backward(w_) ? t.backward_input.total() + t.backward_weight.total()
                                   : t.backward.total();
      };
      const Duration none = backward(next);
      for (PolicyCandidate& one : list)
        one.again = std::max(Duration{}, (backward(next++) - none) / most);
    }
  }

  // --- plans ---

  Counts all_of(LayerPolicy::Kind kind) const {
    Counts counts;
    for (const LayerGroup& group : groups_) {
      const std::vector<PolicyCandidate>& list = candidates_.at(group.block);
      counts.emplace_back(list.size(), 0);
      for (std::size_t p = 0; p < list.size(); ++p)
        if (list[p].policy.kind == kind) {
          counts.back()[p] = group.layers;
          break;
        }
    }
    return counts;
  }

  // Whatever is done again comes first: its backward is the last, when least else is held.
  std::vector<std::pair<const PolicyCandidate*, int>> in_order(
      std::size_t group, const std::vector<int>& counts) const {
    std::vector<std::pair<const PolicyCandidate*, int>> order;
    const std::vector<PolicyCandidate>& list = candidates_.at(groups_[group].block);
    for (std::size_t p = 0; p < list.size(); ++p)
      if (counts[p] > 0) order.emplace_back(&list[p], counts[p]);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first->again > b.first->again; });
    return order;
  }

  template <class RunsOf>
  StepEstimate estimate(RunsOf runs_of) {
    std::size_t group = 0;
    for (std::size_t s = 0; s < plain_runs_.size(); ++s) {
      w_.runs[s].clear();
      for (const Workload::Run& run : plain_runs_[s]) {
        if (!is_layer(w_, w_.bodies[at(run.body)].block)) {
          w_.runs[s].push_back(run);
          continue;
        }
        int first = run.first_layer;
        for (const auto& [candidate, count] : runs_of(group)) {
          w_.runs[s].push_back({candidate->body, count, first});
          first += count;
        }
        ++group;
      }
    }
    sum_stages(w_);
    return estimate_step(w_, cost_);
  }

  Priced price(const Counts& counts) {
    Priced priced{estimate([&](std::size_t g) { return in_order(g, counts[g]); })};
    const std::vector<Bytes>& reserved = priced.estimate.reserved;
    priced.fullest = static_cast<std::size_t>(std::max_element(reserved.begin(), reserved.end()) -
                                              reserved.begin());
    priced.margin = limit_ - reserved[priced.fullest];
    return priced;
  }

  // Nearly full memory costs time: less of it may be worth more.
  std::vector<Bytes> limits() const {
    std::vector<Bytes> list = {limit_};
    const auto onset = static_cast<double>(memory_.value) * process_.pressure_onset;
    const auto all = static_cast<double>(limit_.value);
    if (process_.pressure_slope > 0 && onset < all)
      for (const double share : {0.0, 0.125, 0.25, 0.375, 0.5, 0.75})
        list.push_back(Bytes{static_cast<std::int64_t>(onset + share * (all - onset))});
    return list;
  }

  // --- mixes ---

  // Counts the microbatches that a copy of each stage holds at most.
  void count_most_held() {
    const auto copies_of_stage = static_cast<std::size_t>(copies(w_.placement));
    most_.resize(plain_runs_.size());
    for (const std::vector<HeldMoment>& device : plain_.moments)
      for (const HeldMoment& moment : device)
        for (const HeldCount& count : moment.counts) {
          MostHeld& most = most_[count.copy / copies_of_stage];
          most.live = std::max(most.live, count.live);
          most.for_weight = std::max(most.for_weight, count.for_weight);
          most.both = std::max(most.both, count.live + count.for_weight);
        }
  }

  // Bytes of one layer of the group, for all microbatches that its stage has in flight. The three
  // kinds of bytes may be most at different moments, and an input pass that runs rebuilds what
  // waits later: each is taken at its own most.
  std::int64_t held(const LayerGroup& group, const PolicyCandidate& one) const {
    const MostHeld& most = most_[group.stage];
    return one.until_input.value * most.live + one.until_weight.value * most.both +
           one.rebuilt_for_weight.value * most.for_weight;
  }

  // What of one layer of each policy that may run is rebuilt and waits for its weight pass.
  std::int64_t rebuilt_waits(const LayerGroup& group, const std::vector<bool>& may) const {
    const std::vector<PolicyCandidate>& list = candidates_.at(group.block);
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < list.size(); ++p)
      if (may[p]) sum += list[p].rebuilt_for_weight.value;
    return sum * most_[group.stage].for_weight;
  }

  // By device: bytes that its layers may hold, where each policy in `allowed` may run.
  std::vector<std::int64_t> room(const std::map<int, std::vector<bool>>& allowed, Bytes limit) {
    const StepEstimate all = estimate([&](std::size_t g) {
      std::vector<std::pair<const PolicyCandidate*, int>> each;
      const std::vector<PolicyCandidate>& list = candidates_.at(groups_[g].block);
      const std::vector<bool>& may = allowed.at(groups_[g].block);
      for (std::size_t p = 0; p < list.size(); ++p)
        if (may[p]) each.emplace_back(&list[p], 1);
      return each;
    });
    const StageCopies places(w_);
    std::vector<std::int64_t> rooms;
    for (std::uint32_t d = 0; d < all.memory.size(); ++d) {
      const auto of = [d](const StepEstimate& e, Category c) {
        return e.memory[d][static_cast<std::size_t>(c)].value;
      };
      const std::int64_t lasting = of(plain_, Category::Weights) + of(plain_, Category::Gradients) +
                                   of(plain_, Category::OptimizerState) +
                                   of(all, Category::Framework);
      std::int64_t passing = of(plain_, Category::Activations) + of(all, Category::Communication) +
                             of(all, Category::Workspace);
      std::int64_t recomputed = of(all, Category::Recomputed);
      for (const LayerGroup& group : groups_)
        if (on_device(places, group, d)) {
          passing -= held(group, candidates_.at(group.block).front()) * group.layers;
          recomputed -= rebuilt_waits(group, allowed.at(group.block));
        }
      passing += std::max<std::int64_t>(0, recomputed);
      const double most =
          static_cast<double>(limit.value - lasting) / std::max(1.0, process_.fragmentation);
      rooms.push_back(static_cast<std::int64_t>(std::floor(most)) - passing - 1);
    }
    return rooms;
  }

  static bool on_device(const StageCopies& places, const LayerGroup& group, std::uint32_t device) {
    const StageId stage{static_cast<std::uint32_t>(group.stage)};
    return places.device(stage, 0).value == device ||
           (places.copied() && places.device(stage, 1).value == device);
  }

  // Policies that hold at most that much while a layer runs backward; of each kind of layer the
  // lightest in any case.
  std::map<int, std::vector<bool>> allowed_up_to(Bytes most) const {
    std::map<int, std::vector<bool>> allowed;
    for (const auto& [block, list] : candidates_) {
      std::vector<bool>& may = allowed[block];
      Bytes lightest{INT64_MAX};
      for (const PolicyCandidate& one : list) lightest = std::min(lightest, one.while_backward);
      for (const PolicyCandidate& one : list)
        may.push_back(one.while_backward <= std::max(most, lightest));
    }
    return allowed;
  }

  // What the fullest device has to spare; 0 where no mix fits.
  Bytes try_mix(Bytes limit) {
    std::vector<Bytes> heights;
    for (const auto& [block, list] : candidates_)
      for (const PolicyCandidate& one : list) heights.push_back(one.while_backward);
    std::sort(heights.begin(), heights.end());
    heights.erase(std::unique(heights.begin(), heights.end()), heights.end());

    struct Best {
      Mix mix;
      bool found = false;
    };
    const StageCopies places(w_);
    const auto devices = static_cast<std::uint32_t>(w_.scenario.plan.mesh.pp);
    std::vector<Best> best(devices);
    for (const Bytes height : heights) {
      const auto allowed = allowed_up_to(height);
      const std::vector<std::int64_t> rooms = room(allowed, limit);
      for (std::uint32_t d = 0; d < devices; ++d) {
        Mix mix = best_mix(problem(places, d, allowed), rooms[d], options_.stop);
        if (mix.counts.empty() && !groups_of(places, d).empty()) continue;
        if (best[d].found && best[d].mix.time <= mix.time) continue;
        best[d] = {std::move(mix), true};
      }
    }
    Counts counts = all_of(LayerPolicy::Kind::None);
    std::vector<RecomputeChoice::Device> shown;
    for (std::uint32_t d = devices; d-- > 0;) {
      if (!best[d].found) return {};
      const std::vector<std::size_t> groups = groups_of(places, d);
      // Copies of a stage are on two devices, which hold the same stages: the first one's mix.
      for (std::size_t i = 0; i < groups.size(); ++i) counts[groups[i]] = best[d].mix.counts[i];
      shown.push_back({Duration{best[d].mix.time},
                       Duration{static_cast<std::int64_t>(std::floor(best[d].mix.bound))}});
    }
    std::reverse(shown.begin(), shown.end());
    return consider(counts, "mix of policies", std::move(shown));
  }

  std::vector<std::size_t> groups_of(const StageCopies& places, std::uint32_t device) const {
    std::vector<std::size_t> list;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (on_device(places, groups_[g], device)) list.push_back(g);
    return list;
  }

  std::vector<MixGroup> problem(const StageCopies& places, std::uint32_t device,
                                const std::map<int, std::vector<bool>>& allowed) const {
    constexpr std::int64_t kNever = INT64_MAX / 1'000'000;
    std::vector<MixGroup> problem;
    for (const std::size_t g : groups_of(places, device)) {
      MixGroup group{groups_[g].layers, {}};
      const std::vector<PolicyCandidate>& list = candidates_.at(groups_[g].block);
      const std::vector<bool>& may = allowed.at(groups_[g].block);
      for (std::size_t p = 0; p < list.size(); ++p)
        group.policies.push_back(may[p]
                                     ? MixPolicy{held(groups_[g], list[p]), list[p].again.count()}
                                     : MixPolicy{kNever, kNever});
      problem.push_back(std::move(group));
    }
    return problem;
  }

  // --- answers ---

  // What is to spare of the limit.
  Bytes consider(const Counts& counts, std::string how,
                 std::vector<RecomputeChoice::Device> devices) {
    const Priced priced = price(counts);
    if (!least_ || priced.margin > least_->margin) least_ = {priced.margin, priced.fullest, counts};
    if (priced.margin.value < 0) return priced.margin;
    if (found_ && priced.estimate.step >= best_.step) return priced.margin;
    found_ = true;
    best_.text = text(counts);
    best_.step = priced.estimate.step;
    best_.margin = priced.margin;
    best_.found_by = std::move(how);
    if (!devices.empty()) best_.devices = std::move(devices);
    return priced.margin;
  }

  std::string text(const Counts& counts) const {
    RecomputePolicies policies;
    policies.stages.resize(plain_runs_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const auto& [candidate, count] : in_order(g, counts[g])) {
        StagePolicies& runs = policies.stages[groups_[g].stage];
        if (!runs.empty() && runs.back().policy == candidate->policy)
          runs.back().layers += count;
        else
          runs.push_back({candidate->policy, count});
      }
    for (StagePolicies& runs : policies.stages)
      if (runs.empty())
        runs.push_back({});
      else
        runs.back().layers = 0;
    const bool alike = std::all_of(policies.stages.begin(), policies.stages.end(),
                                   [&](const StagePolicies& s) { return s == policies.stages[0]; });
    if (alike) policies.stages.resize(1);
    return to_text(policies);
  }

  // The lightest policy of each group by what it holds.
  Counts lightest() const {
    Counts counts = all_of(LayerPolicy::Kind::None);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::vector<PolicyCandidate>& list = candidates_.at(groups_[g].block);
      std::size_t least = 0;
      for (std::size_t p = 1; p < list.size(); ++p)
        if (held(groups_[g], list[p]) + list[p].while_backward.value / groups_[g].layers <
            held(groups_[g], list[least]) + list[least].while_backward.value / groups_[g].layers)
          least = p;
      counts[g].assign(list.size(), 0);
      counts[g][least] = groups_[g].layers;
    }
    return counts;
  }

  [[noreturn]] void refuse() {
    consider(lightest(), "least memory", {});
    throw Error(Error::Kind::InvalidInput,
                fmt::format("no recomputation fits: the plan of least memory, recompute={}, is {} "
                            "over {} on device {}",
                            text(least_->counts).substr(0, 80), readable(-least_->margin),
                            readable(limit_), least_->device),
                {"plan#/choices/recompute"});
  }

  struct Least {
    Bytes margin{};
    std::size_t device = 0;
    Counts counts;
  };

  Workload w_;
  const CostModel& cost_;
  const RecomputeOptions& options_;
  ProcessMemory process_;
  Bytes memory_{}, limit_{};
  std::vector<std::vector<Workload::Run>> plain_runs_;
  std::vector<LayerGroup> groups_;
  std::map<int, std::vector<PolicyCandidate>> candidates_;  // by block; policy none is the first
  StepEstimate plain_;                                      // of policy none everywhere
  std::vector<MostHeld> most_;                              // of it, by stage
  bool found_ = false;
  RecomputeChoice best_;
  std::optional<Least> least_;
};

}  // namespace

RecomputeChoice optimal_recompute(const Scenario& scenario, const CostModel& cost,
                                  const RecomputeOptions& options) {
  const std::string kept = setting(scenario.plan, "offload");
  if (is_mixed(scenario.cluster))
    throw Error(Error::Kind::InvalidInput,
                "recompute=optimal weighs what equal devices keep, and this cluster has several "
                "kinds; name a policy such as recompute=full",
                {"plan#/choices/recompute"});
  if (!treats_layers_alike(scenario))
    throw Error(Error::Kind::InvalidInput,
                "recompute=optimal chooses among layers that are alike, found some that keep bf16 "
                "products or gathered weights and some that do not",
                {"plan#/choices"});
  if (kept == "activations" || kept == "both")
    throw Error(Error::Kind::InvalidInput,
                "recompute=optimal weighs what the device itself keeps of every microbatch, and "
                "offload=" +
                    kept + " has the host keep it; name a policy such as recompute=full",
                {"plan#/choices/recompute"});
  return RecomputeSearch(scenario, cost, options).run();
}

}  // namespace trainyard
