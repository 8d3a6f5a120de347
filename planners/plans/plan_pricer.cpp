#include "planners/plans/plan_pricer.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "core/cluster/mixed.h"
#include "core/lowering/lower.h"
#include "core/memory/process_bytes.h"
#include "core/methods/catalogue.h"
#include "core/methods/orders/closed_form.h"
#include "core/methods/settings/settings.h"
#include "core/plan/shared_statistics.h"
#include "core/result/input_cost.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/holdings.h"
#include "planners/plans/plan_bound.h"

namespace trainyard {
namespace {

using Digits = std::vector<std::uint32_t>;

// The positions of the knobs, so that nothing is looked up by name for each of a million plans.
struct KnobIndex {
  explicit KnobIndex(const PlanSpace& s)
      : devices(s.knob("devices")),
        tp(s.knob("tp")),
        cp(s.knob("cp")),
        ep(s.knob("ep")),
        etp(s.knob("etp")),
        pp(s.knob("pp")),
        dp(s.knob("dp")),
        order(s.knob("rank-order")),
        zero(s.knob("zero")),
        hybrid(s.knob("hybrid")),
        sequence_parallel(s.knob("sequence-parallel")),
        recompute(s.knob("recompute")),
        precision(s.knob("precision")),
        overlap(s.knob("overlap")),
        tensor_overlap(s.knob("tensor-overlap")),
        micro(s.knob("micro-batch")),
        schedule(s.knob("schedule")),
        virtual_stages(s.knob("virtual-stages")),
        offload(s.knob("offload")),
        layers(s.knob(kOffloadLayers)) {}
  std::size_t devices, tp, cp, ep, etp, pp, dp, order, zero, hybrid, sequence_parallel, recompute,
      precision, overlap, tensor_overlap, micro, schedule, virtual_stages, offload;
  std::size_t layers;  // behind all knobs if there is none
};

// Calls f with each combination of the digits of knobs [from, to); the last varies fastest.
template <class F>
void each_combination(const PlanSpace& space, Digits& digits, std::size_t from, std::size_t to,
                      const F& f) {
  if (from == to) return f();
  for (digits[from] = 0; digits[from] < space.knobs()[from].values.size(); ++digits[from])
    each_combination(space, digits, from + 1, to, f);
  digits[from] = 0;
}

// A mesh together with the knobs that come before it.
struct MeshJob {
  Digits digits;  // of knobs up to rank order; zeros behind
  std::int64_t devices = 1, tp = 1, cp = 1, ep = 1, pp = 1, dp = 1;
  bool whole_experts = false;
  std::int64_t replicas = 1;  // of the most replicated weights: experts, or all others
  std::size_t group = 0;      // index of the group of meshes in which layers do the same work
};

class SpacePricer {
 public:
  SpacePricer(const PlanSpace& space, CostModels& costs, const PricerOptions& options)
      : space_(space), costs_(costs), options_(options), at_(space) {}

  PriceTable run() {
    list_meshes();
    mark_work();
    make_kinds();
    make_work();
    std::vector<PriceTable> parts(jobs_.size());
    tbb::parallel_for(std::size_t{0}, jobs_.size(), [&](std::size_t j) {
      if (mine(j) && !stopped()) parts[j] = price_mesh(jobs_[j]);
    });
    return join(parts);
  }

 private:
  bool stopped() const { return options_.stop.stop_requested(); }
  bool mine(std::size_t job) const {
    return static_cast<int>(job % static_cast<std::size_t>(options_.parts)) == options_.part;
  }
  std::int64_t number(std::size_t knob, const Digits& d) const {
    return space_.number(knob, d[knob]);
  }

  // Lists every combination of knobs up to the rank order that belongs to some plan.
  void list_meshes() {
    Digits digits(space_.knobs().size(), 0);
    std::map<std::vector<std::int64_t>, std::size_t> groups;
    each_combination(space_, digits, 0, at_.order + 1, [&] {
      MeshJob job{digits};
      job.devices = number(at_.devices, digits), job.tp = number(at_.tp, digits);
      job.cp = number(at_.cp, digits), job.ep = number(at_.ep, digits);
      job.pp = number(at_.pp, digits);
      const std::int64_t model = job.tp * job.cp * job.pp;
      if (job.devices % model != 0) return;
      job.dp = job.devices / model;
      const std::string& wanted = space_.knobs()[at_.dp].values[digits[at_.dp]];
      if (wanted != "rest" && number(at_.dp, digits) != job.dp) return;
      if (job.tp == 1 && digits[at_.etp] != 0) return;
      job.whole_experts = job.tp > 1 && space_.knobs()[at_.etp].values[digits[at_.etp]] == "1";
      const Mesh mesh = mesh_of(job);
      if (expert_pool(mesh) % job.ep != 0) return;
      job.replicas = std::max(ranks(mesh, Group::Data), ranks(mesh, Group::ExpertData));
      if ((job.pp == 1 || job.dp * job.cp == 1) && digits[at_.order] != 0) return;
      job.group = groups.try_emplace(group_key(job), groups.size()).first->second;
      jobs_.push_back(std::move(job));
    });
    groups_ = groups.size();
  }

  Mesh mesh_of(const MeshJob& job) const {
    return {static_cast<int>(job.tp),
            static_cast<int>(job.cp),
            static_cast<int>(job.ep),
            static_cast<int>(job.dp),
            static_cast<int>(job.pp),
            order_of(job),
            job.whole_experts ? std::optional<int>(1) : std::nullopt};
  }

  // Everything about a mesh on which the work of a layer depends.
  std::vector<std::int64_t> group_key(const MeshJob& job) const {
    std::vector<std::int64_t> key(
        job.digits.begin(), job.digits.begin() + static_cast<std::ptrdiff_t>(at_.devices + 1));
    const Mesh mesh = mesh_of(job);
    const Cluster cluster = with_devices(space_.base().cluster, job.devices);
    key.insert(key.end(), {job.tp, job.cp, job.ep, job.whole_experts ? 1 : 0, job.pp > 1 ? 1 : 0});
    std::vector<Group> groups = {Group::Tensor, Group::Context, Group::Expert};
    if (may_share_statistics()) groups.push_back(Group::Data);
    for (const Group g : groups) {
      const GroupShape shape = group_shape(mesh, g, cluster);
      key.insert(key.end(), {shape.ranks, shape.per_node, shape.neighbours, shape.stride});
    }
    if (job.ep > 1) key.insert(key.end(), {job.dp, job.pp, job.digits[at_.order]});
    return key;
  }

  bool may_share_statistics() const {
    return find_choice(space_.base().plan, kBatchNormStatistics) != nullptr ||
           space_.knob("batch-norm") != space_.knobs().size();
  }

  const std::string& order_of(const MeshJob& job) const {
    return space_.knobs()[at_.order].values[job.digits[at_.order]];
  }

  // Indexes the work of layers by group of meshes and by the knobs from sequence parallel to
  // micro-batch.
  std::size_t work_index(std::size_t group, const Digits& d) const {
    std::size_t index = group;
    for (std::size_t k = at_.sequence_parallel; k <= at_.micro; ++k)
      index = index * space_.knobs()[k].values.size() + d[k];
    return index;
  }

  bool whole_batch(const MeshJob& job, const Digits& d) const {
    return space_.base().plan.batch.global % (job.dp * number(at_.micro, d)) == 0;
  }

  // The tables cover neither copies that forwards wait for, nor the limit of a host's memory, nor
  // state that is on NVMe. They are bounds where activations leave, some of which stay, and a space
  // in which these leave layer by layer makes do with that.
  bool by_tables(const Digits& d) const {
    const std::string& kept = offload(d);
    if (kept == "none") return true;
    if (kept == "activations" && at_.layers < space_.knobs().size()) return true;
    return kept == "optimizer" && space_.base().cluster.host_memory.value.value == 0 &&
           setting(space_.base().plan, "offload-tier") != "nvme";
  }
  const std::string& offload(const Digits& d) const {
    return space_.knobs()[at_.offload].values[d[at_.offload]];
  }
  // Schedules that an update on the host cannot follow are refused plan by plan.
  bool followed(const Digits& d, const Holdings& h) const {
    return offload(d) == "none" || !(h.paced || h.shared || copies(h.placement) > 1);
  }

  // These policies recompute every layer alike; plans with other policies are priced one by one.
  bool regular(const Digits& d) const {
    const std::string& policy = space_.knobs()[at_.recompute].values[d[at_.recompute]];
    if (policy != "none" && policy != "selective" && policy != "op" && policy != "full")
      return false;
    return regular_base_;
  }

  // Determines which layers' work is needed, and which mesh of each group computes it.
  void mark_work() {
    // A framework may split layers by a rule of its own, so its plans are irregular.
    const std::size_t framework = space_.knob("framework");
    regular_base_ =
        space_.base().plan.split.layers.empty() && space_.base().plan.order.empty() &&
        (framework == space_.knobs().size() || space_.knobs()[framework].values.size() == 1);
    std::size_t each = 1;
    for (std::size_t k = at_.sequence_parallel; k <= at_.micro; ++k)
      each *= space_.knobs()[k].values.size();
    work_.resize(groups_ * each);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (!mine(j)) continue;
      Digits d = jobs_[j].digits;
      each_combination(space_, d, at_.sequence_parallel, at_.micro + 1, [&] {
        if (!canonical_layer(jobs_[j], d) || !regular(d) || !whole_batch(jobs_[j], d)) return;
        Work& work = work_[work_index(jobs_[j].group, d)];
        if (work.job == nullptr) {
          work.job = &jobs_[j], work.digits = d;
          needed_.push_back(&work);
        }
        work.pipelines.push_back(static_cast<int>(jobs_[j].pp));
      });
    }
  }

  bool canonical_layer(const MeshJob& job, const Digits& d) const {
    if (job.tp == 1 && (d[at_.sequence_parallel] != 0 || d[at_.tensor_overlap] != 0)) return false;
    return job.replicas > 1 || d[at_.overlap] == 0;
  }

  bool canonical_state(const MeshJob& job, const Digits& d) const {
    const std::int64_t data = job.dp * job.cp, group = number(at_.hybrid, d);
    if (job.replicas == 1 && d[at_.zero] != 0) return false;
    const bool none = space_.knobs()[at_.zero].values[d[at_.zero]] == "0";
    if (at_.layers < space_.knobs().size() && d[at_.layers] != 0 &&
        !offloads_activations(offload(d)))
      return false;
    return d[at_.hybrid] == 0 || !(none || (group > 1 && (group >= data || data % group != 0)));
  }

  // Makes the tables of stages, by the number of stages.
  void make_kinds() {
    for (const MeshJob& job : jobs_)
      for (std::uint32_t v = 0; v < space_.knobs()[at_.virtual_stages].values.size(); ++v) {
        const std::int64_t chunks = space_.number(at_.virtual_stages, v);
        const auto count = static_cast<std::size_t>(job.pp * chunks);
        if (kinds_.count(count) == 0)
          kinds_.emplace(count, stage_kinds(space_.base(), static_cast<int>(job.pp),
                                            static_cast<int>(chunks)));
      }
  }

  // Turns `s`, a scenario of this space, into one with a plan of this mesh and without the
  // pipeline's schedule; the first stage takes the layers that the others leave.
  void set_layers(Scenario& s, const MeshJob& job, Digits d) const {
    d[at_.schedule] = 0, d[at_.virtual_stages] = 0;
    if (s.cluster.count != job.devices)
      s.cluster = with_devices(space_.base().cluster, job.devices);
    s.plan = space_.plan(space_.id(d));
    Plan& plan = s.plan;
    apply_setting(plan, "schedule", "1f1b", {"search"});
    plan.order.clear();
    plan.virtual_stages = 1;
    plan.mesh.dp = static_cast<int>(job.dp);
    plan.split.layers.clear();
    const int layers = layer_count(s.model), pp = static_cast<int>(job.pp);
    if (pp > 1 && layers >= pp) {
      plan.split.layers.assign(static_cast<std::size_t>(pp), 1);
      plan.split.layers.front() = layers - pp + 1;
    }
    plan.batch.global = plan.batch.micro * job.dp;
  }

  struct Work {
    const MeshJob* job = nullptr;
    Digits digits;
    std::vector<int> pipelines;  // pipeline sizes that use it
    WorkPrices prices;
    std::map<std::size_t, std::vector<StageWorkSum>> sums;  // by number of stages, then by kind
  };

  void make_work() {
    tbb::enumerable_thread_specific<Scenario> scenarios(space_.base());
    tbb::parallel_for(std::size_t{0}, needed_.size(), [&](std::size_t i) {
      if (stopped()) return;
      Work& work = *needed_[i];
      Scenario& s = scenarios.local();
      set_layers(s, *work.job, work.digits);
      apply_setting(s.plan, "zero", "0", {"search"});
      apply_setting(s.plan, "hybrid", "0", {"search"});
      apply_setting(s.plan, "offload", "none", {"search"});
      const CostModel& cost = costs_.of(s);
      work.prices = WorkPrices(s, cost);
      if (work.prices.illegal() != Fate::Untried) return;
      for (const int pp : work.pipelines)
        for (std::uint32_t v = 0; v < space_.knobs()[at_.virtual_stages].values.size(); ++v) {
          const auto stages = static_cast<std::size_t>(pp * space_.number(at_.virtual_stages, v));
          const StageKinds& kinds = kinds_.at(stages);
          if (kinds.illegal != Fate::Untried || (pp == 1 && stages > 1) ||
              work.sums.count(stages) != 0)
            continue;
          std::vector<StageWorkSum>& sums = work.sums[stages];
          for (const BlockRuns& runs : kinds.kinds)
            sums.push_back(work.prices.sum(runs, cost, s.cluster));
        }
    });
  }

  // One schedule for a mesh and micro-batch: its chunks, whether it is legal, and its holdings.
  struct Pipeline {
    std::uint32_t schedule = 0, chunks = 0;  // digits
    std::size_t stages = 1;
    Fate illegal = Fate::Untried;
    bool alters_layers = false;  // if so, its plans are priced one by one
    const Holdings* holds = nullptr;
  };

  const Holdings& holdings_of(const Choice& choice, int pp, int v, int microbatches,
                              bool layers_wait) {
    const int settled = settled_microbatches(method(choice.method), pp, microbatches);
    const std::tuple key{choice.method, pp, v, settled, layers_wait};
    {
      const std::lock_guard guard(lock_);
      if (const auto have = holdings_.find(key); have != holdings_.end()) return have->second;
    }
    Holdings made = holdings(choice, pp, v, settled, layers_wait);
    const std::lock_guard guard(lock_);
    return holdings_.try_emplace(key, std::move(made)).first->second;
  }

  std::vector<Pipeline> pipelines(const MeshJob& job, const Digits& d, Scenario& s) {
    std::vector<Pipeline> list;
    const std::vector<std::string>& schedules = space_.knobs()[at_.schedule].values;
    const bool whole = whole_batch(job, d);
    s.plan.mesh.dp = static_cast<int>(job.dp);
    s.plan.batch.micro = number(at_.micro, d);
    for (std::uint32_t c = 0; c < schedules.size(); ++c) {
      if (job.pp == 1 && c > 0) break;
      apply_setting(s.plan, "schedule", schedules[c], {"search"});
      for (std::uint32_t v = 0; v < space_.knobs()[at_.virtual_stages].values.size(); ++v) {
        if (job.pp == 1 && v > 0) break;
        const auto chunks = static_cast<int>(space_.number(at_.virtual_stages, v));
        if (job.pp > 1 && !chunks_fit(schedules[c], chunks)) continue;
        Pipeline p{c, v, static_cast<std::size_t>(job.pp * chunks)};
        s.plan.virtual_stages = chunks;
        s.plan.split.layers.clear();
        p.illegal = kinds_.at(p.stages).illegal;
        if (p.illegal == Fate::Untried && !whole) p.illegal = Fate::Batch;
        if (p.illegal == Fate::Untried) p.illegal = refused(s, p.stages);
        const Method& schedule = schedule_of(s.plan);
        p.alters_layers = schedule.arrange != nullptr || schedule.rewrite != nullptr;
        if (p.illegal == Fate::Untried && !p.alters_layers)
          p.holds =
              &holdings_of(*chosen_on(s.plan, MethodAxis::Schedule), static_cast<int>(job.pp),
                           chunks, microbatches(s.plan), s.plan.mesh.tp > 1 || s.plan.mesh.ep > 1);
        list.push_back(p);
      }
    }
    return list;
  }

  // The fate if the schedule itself refuses the scenario, or if its step has too many actions.
  Fate refused(const Scenario& s, std::size_t stages) const {
    constexpr std::int64_t kMostActions = std::int64_t{1} << 21;
    if (microbatches(s.plan) > kMostActions / static_cast<std::int64_t>(stages)) return Fate::Batch;
    const Choice& choice = *chosen_on(s.plan, MethodAxis::Schedule);
    const Method& schedule = method(choice.method);
    if (!schedule.check) return Fate::Untried;
    Diagnostics errors;
    for (Diagnostic& d : schedule.check(s, with_defaults(choice.params, schedule.params)))
      if (d.severity == Diagnostic::Severity::Error) errors.push_back(std::move(d));
    return errors.empty() ? Fate::Untried : illegal_fate(errors);
  }

  struct State {
    std::map<std::size_t, std::vector<StageStateSum>> sums;  // by number of stages, then by kind
    Fate illegal = Fate::Untried;
    bool reduces_every_microbatch = false, blocking_sends = false;
  };

  // The state of a layer does not depend on its work for a microbatch, with one exception: if
  // weights are gathered for each microbatch, a recomputed layer gathers them once more.
  Digits state_digits(Digits d) const {
    d[at_.micro] = 0, d[at_.tensor_overlap] = 0;
    if (space_.knobs()[at_.zero].values[d[at_.zero]] != "3") d[at_.recompute] = 0;
    d.resize(at_.micro);
    return d;
  }

  State state_of(const MeshJob& job, Digits d, Scenario& s) {
    d.resize(space_.knobs().size(), 0);
    State state;
    set_layers(s, job, d);
    s.plan.batch.micro = 1, s.plan.batch.global = job.dp;
    s.cluster.host_memory = {};  // belongs to no plan; host memory is checked plan by plan
    const CostModel& cost = costs_.of(s);
    StatePrices prices(std::move(s), cost);
    state.illegal = prices.illegal();
    state.reduces_every_microbatch = prices.reduces_every_microbatch();
    state.blocking_sends = prices.blocking_sends();
    if (state.illegal == Fate::Untried) sum_states(job, prices, cost, state);
    s = prices.take_scenario();
    return state;
  }

  void sum_states(const MeshJob& job, const StatePrices& prices, const CostModel& cost,
                  State& state) const {
    for (std::uint32_t v = 0; v < space_.knobs()[at_.virtual_stages].values.size(); ++v) {
      const auto stages = static_cast<std::size_t>(job.pp * space_.number(at_.virtual_stages, v));
      const StageKinds& kinds = kinds_.at(stages);
      if (kinds.illegal != Fate::Untried || (job.pp == 1 && stages > 1) ||
          state.sums.count(stages) != 0)
        continue;
      for (const BlockRuns& runs : kinds.kinds)
        state.sums[stages].push_back(prices.sum(runs, cost));
    }
  }

  PriceTable price_mesh(const MeshJob& job) {
    PriceTable out;
    Digits d = job.digits;
    const Cluster cluster = with_devices(space_.base().cluster, job.devices);
    Scenario s = space_.scenario(space_.id(d));
    const CostModel& cost = costs_.of(s);
    Room room{{}, std::vector<DeviceSum>(static_cast<std::size_t>(job.pp))};
    // The pipelines of each micro-batch.
    std::vector<std::vector<Pipeline>> by_micro;
    for (d[at_.micro] = 0; d[at_.micro] < space_.knobs()[at_.micro].values.size(); ++d[at_.micro])
      by_micro.push_back(pipelines(job, d, s));
    d[at_.micro] = 0;
    const MeshPrices prices{job,
                            cluster,
                            cost,
                            cost.process_memory(cluster.device),
                            pipeline_level(s.plan.mesh, cluster),
                            input_time(s)};
    std::map<std::vector<std::uint32_t>, State> states;
    each_combination(space_, d, at_.zero, at_.micro, [&] {
      if (stopped() || !canonical_state(job, d) || !canonical_layer(job, d)) return;
      Digits key = state_digits(d);
      auto have = states.find(key);
      if (have == states.end()) have = states.emplace(key, state_of(job, key, s)).first;
      const State& state = have->second;
      for (d[at_.micro] = 0; d[at_.micro] < by_micro.size(); ++d[at_.micro])
        price_pipelines(prices, d, state, by_micro[d[at_.micro]], room, out);
      d[at_.micro] = 0;
    });
    const std::lock_guard guard(lock_);
    tried_ += out.ids.size();
    if (options_.progress) options_.progress(tried_);
    return out;
  }

  // Inputs that all plans of a mesh share.
  struct MeshPrices {
    const MeshJob& job;
    const Cluster& cluster;
    const CostModel& cost;
    ProcessMemory process;
    std::size_t level;  // the level of links that messages between stages cross
    Duration input;     // no step is shorter
  };

  struct Room {
    std::vector<KindPrice> kinds;
    std::vector<DeviceSum> devices;
  };

  void price_pipelines(const MeshPrices& mesh, Digits& d, const State& state,
                       const std::vector<Pipeline>& list, Room& room, PriceTable& out) {
    const MeshJob& job = mesh.job;
    const Work* work = regular(d) && by_tables(d) && whole_batch(job, d)
                           ? &work_[work_index(job.group, d)]
                           : nullptr;
    const PlanId base = space_.id(d);
    const bool leaves = offloads_activations(offload(d));
    std::size_t stages_at_hand = 0;
    bool split_at_hand = false;
    std::int64_t transfer = 0;
    for (const Pipeline& p : list) {
      out.ids.push_back(base + space_.stride(at_.schedule) * p.schedule +
                        space_.stride(at_.virtual_stages) * p.chunks);
      PricedPlan& plan = out.plans.emplace_back();
      plan.fate = p.illegal;
      if (plan.fate == Fate::Layers) continue;
      if (state.illegal != Fate::Untried) plan.fate = state.illegal;
      if (work != nullptr && work->prices.illegal() != Fate::Untried)
        plan.fate = work->prices.illegal();
      if (plan.fate != Fate::Untried) continue;
      if (work == nullptr || p.alters_layers || kinds_.at(p.stages).forward_only ||
          !followed(d, *p.holds)) {
        price_alone(out.ids.back(), mesh, plan);
        continue;
      }
      if (stages_at_hand != p.stages || split_at_hand != p.holds->splits_backward) {
        stages_at_hand = p.stages, split_at_hand = p.holds->splits_backward;
        const std::vector<StageWorkSum>& sums = work->sums.at(p.stages);
        const std::vector<StageStateSum>& states = state.sums.at(p.stages);
        room.kinds.clear();
        for (std::size_t k = 0; k < sums.size(); ++k) {
          KindPrice& kind = room.kinds.emplace_back(
              combine(sums[k], states[k], split_at_hand, state.reduces_every_microbatch));
          if (leaves) kind.live = kind.for_weight = {};
        }
        transfer = transfer_of(mesh, p, sums);
      }
      const auto m =
          static_cast<int>(space_.base().plan.batch.global / job.dp / number(at_.micro, d));
      const StepBound bound = bound_of(
          room.kinds, kinds_.at(p.stages).kind_of, *p.holds,
          {mesh.process, transfer, m, state.reduces_every_microbatch, state.blocking_sends},
          room.devices);
      plan.step = std::max(Duration{bound.step}, mesh.input), plan.memory = bound.memory,
      plan.device = bound.device;
      plan.bound = true;
      if (bound.memory > memory_limit(mesh.cluster, options_.spare)) plan.fate = Fate::Memory;
    }
  }

  std::int64_t transfer_of(const MeshPrices& mesh, const Pipeline& p,
                           const std::vector<StageWorkSum>& sums) const {
    if (mesh.job.pp == 1) return 0;
    const std::vector<std::uint16_t>& kind_of = kinds_.at(p.stages).kind_of;
    Bytes largest{};
    for (std::size_t s = 0; s < kind_of.size(); ++s) {
      if (s + 1 < kind_of.size()) largest = std::max(largest, sums[kind_of[s]].bytes.send_forward);
      if (s > 0) largest = std::max(largest, sums[kind_of[s]].bytes.send_backward);
    }
    return mesh.cost.transfer(largest, mesh.cluster, mesh.level).count();
  }

  void price_alone(PlanId id, const MeshPrices& mesh, PricedPlan& plan) {
    const Scenario s = space_.scenario(id);
    const ExactPrice price = exact_price(s, mesh.cost);
    plan.fate = price.illegal;
    if (plan.fate != Fate::Untried) return;
    plan.step = price.step, plan.memory = price.memory, plan.device = price.device;
    if (price.memory > memory_limit(mesh.cluster, options_.spare)) plan.fate = Fate::Memory;
  }

  PriceTable join(std::vector<PriceTable>& parts) const {
    PriceTable all;
    std::size_t count = 0;
    for (const PriceTable& part : parts) count += part.ids.size();
    all.ids.reserve(count), all.plans.reserve(count);
    for (PriceTable& part : parts) {
      all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
      all.plans.insert(all.plans.end(), part.plans.begin(), part.plans.end());
      part = {};
    }
    return all;
  }

  const PlanSpace& space_;
  CostModels& costs_;
  const PricerOptions& options_;
  KnobIndex at_;
  std::vector<MeshJob> jobs_;
  std::size_t groups_ = 0;
  bool regular_base_ = true;
  std::vector<Work> work_;
  std::vector<Work*> needed_;
  std::map<std::size_t, StageKinds> kinds_;
  std::mutex lock_;
  std::map<std::tuple<std::string, int, int, int, bool>, Holdings> holdings_;
  std::uint64_t tried_ = 0;
};

// Layers weighted to the kinds of a mixed cluster may beat an even split on the fastest of them
// where embedding or head weigh much, so a bound leaves this much room.
constexpr double kWeightedRoom = 0.75;

// A plan on a mixed cluster is no faster than on the fastest kind alone, and fits if it fits on the
// roomiest. It is legal where it is legal on all.
PricedPlan bound_of_kinds(const PricedPlan& a, const PricedPlan& b) {
  const auto is_open = [](const PricedPlan& p) { return p.fate == Fate::Untried; };
  if (!is_open(a) && a.fate != Fate::Memory) return a;
  if (!is_open(b) && b.fate != Fate::Memory) return b;
  if (is_open(a) != is_open(b)) return is_open(a) ? a : b;
  PricedPlan least = a;
  least.step = std::min(a.step, b.step), least.memory = std::min(a.memory, b.memory);
  return least;
}

PriceTable price_mixed(const PlanSpace& space, CostModels& costs, const PricerOptions& options) {
  PriceTable all;
  for (std::size_t kind = 0; kind < kinds(space.base().cluster); ++kind) {
    const PlanSpace alone = space.on(kind_cluster(space.base().cluster, kind));
    PriceTable one = SpacePricer(alone, costs, options).run();
    if (kind == 0) {
      all = std::move(one);
      continue;
    }
    PriceTable both;  // those that no stop has left out
    for (std::size_t a = 0, b = 0; a < all.ids.size() && b < one.ids.size();) {
      if (all.ids[a] == one.ids[b]) {
        both.ids.push_back(all.ids[a]);
        both.plans.push_back(bound_of_kinds(all.plans[a], one.plans[b]));
      }
      const bool first = all.ids[a] <= one.ids[b], second = one.ids[b] <= all.ids[a];
      a += first, b += second;
    }
    all = std::move(both);
  }
  for (PricedPlan& plan : all.plans) {
    if (legal(plan.fate) || plan.fate == Fate::Untried)
      plan.step = Duration{
          static_cast<Duration::rep>(static_cast<double>(plan.step.count()) * kWeightedRoom)};
    plan.bound = true;
  }
  return all;
}

}  // namespace

PriceTable price_space(const PlanSpace& space, CostModels& costs, const PricerOptions& options) {
  const Cluster& cluster = space.base().cluster;
  PriceTable all = is_mixed(cluster) ? price_mixed(space, costs, options)
                                     : SpacePricer(space, costs, options).run();
  // The tables take devices and links to be equal, and no plan is faster where they are not.
  if (cluster.slowness != Slowness{})
    for (PricedPlan& plan : all.plans)
      plan.bound = plan.bound || legal(plan.fate) || plan.fate == Fate::Untried;
  return all;
}

}  // namespace trainyard
