#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/base/saturating.h"
#include "core/cluster/host.h"
#include "core/cluster/nvme.h"
#include "core/cost/kernels/concurrent_kernels.h"
#include "core/cost/overlap.h"
#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/lowering/stage_copies.h"
#include "core/methods/parallel/waiting_devices.h"
#include "core/plan/stage_kinds.h"

namespace trainyard {
namespace {

Duration made_longer(Duration time, double times) {
  return Duration{std::llround(static_cast<double>(time.count()) * times)};
}

// The slowest of ten million devices is 5.3 spreads from the median in the mean.
double most_slower(const Slowness& s) {
  constexpr double kFarthest = 6;
  return s.slow_link * s.throttled * std::exp(kFarthest * (s.lasting + s.jitter));
}

// A Pricer prices the kinds of stages of one workload on one kind of devices; it prices each kernel
// and each message once.
class Pricer {
 public:
  // Where `slow_link`, the stages lie on device 0, whose link may be slow.
  Pricer(const Workload& w, const CostModel& cost, const Cluster& cluster, bool slow_link = false)
      : w_(w),
        cost_(cost),
        cluster_(cluster),
        link_(slow_link ? cluster.slowness.slow_link : 1),
        slow_level_(slow_level(cluster)),
        most_slower_(cluster.slowness == Slowness{} ? 1 : most_slower(cluster.slowness)) {
    kernels_.reserve(w.kernels.size());
    for (const Work& work : w.kernels) kernels_.push_back(cost.compute(work, cluster.device));
  }

  const Cluster& cluster() const { return cluster_; }

  // What is priced after this call is done by `count` stages.
  void stages(std::int64_t count) { stages_ = count; }

  Duration collective(const CollectiveRun& run) {
    const Duration alone = message(run).time / run.every;
    if (run.beside.count == 0) return counted(alone, run.repeats);
    const double contention = cost_.contention(cluster_.device);
    return counted(exposed(alone, kernels_[run.kernel], run.beside.count, contention), run.repeats);
  }

  // Returns the largest message between stages; 0 where there is one stage. One of the pipeline's
  // boundaries may be slow, and their mean is what a microbatch waits for.
  Duration transfer() {
    if (w_.scenario.plan.mesh.pp == 1) return {};
    Duration one = cost_.transfer(w_.largest_message, cluster_, w_.pipeline_level);
    if (cluster_.slowness.slow_link > 1 && w_.pipeline_level >= slow_level_)
      one = made_longer(one, 1 + (cluster_.slowness.slow_link - 1) /
                                     static_cast<double>(w_.scenario.plan.mesh.pp - 1));
    stages(static_cast<std::int64_t>(w_.table.size()));
    counted(one, 2);  // forward and back
    return one;
  }

  Duration sum(const std::vector<CollectiveRun>& runs) {
    Duration total{};
    for (const CollectiveRun& run : runs) total += collective(run);
    return total;
  }

  // Prices a copy that every microbatch makes to the host and back.
  Duration host(Duration one) {
    counted(one, 2);
    return one;
  }

  Duration update(const std::vector<WorkCount>& works, const std::vector<std::uint32_t>& kernels) {
    return whole(works, kernels, true);
  }

  LayerTime::Part part(const PhaseWork& work) {
    LayerTime::Part part;
    part.load = load(work.works, work.kernels);
    for (const CollectiveRun& run : work.blocking) {
      const bool model =
          run.group == Group::Tensor || is_context(run.group) || run.group == Group::Expert;
      const Duration one = collective(run);
      if (run.beside.count > 0)
        part.load.exposed += to_seconds(one);
      else
        (model ? part.model : part.data) += one;
    }
    part.weights = sum(work.lead) + sum(work.gather);
    part.beside = sum(work.beside);
    return part;
  }

  PhaseLoad load(const std::vector<WorkCount>& works, const std::vector<std::uint32_t>& kernels) {
    return cost_.load(works, each_of(works, kernels), cluster_);
  }

  PhaseTime phase(const PhaseWork& work) {
    PhaseTime time;
    Duration kernels{};
    time.compute = whole(work.works, work.kernels, false);  // and each_ has its kernels
    for (std::size_t i = 0; i < work.works.size(); ++i) {
      const WorkCount& one = work.works[i];
      const Duration t = saturating_product(each_[i], one.count);
      const Flops flops = one.work.flops * static_cast<double>(one.count);
      kernels = saturating_sum(kernels, t);
      time.filled += static_cast<double>(t.count()) * one.work.fill;
      time.flops += flops;
      if (one.recomputed)
        time.recompute += t;
      else
        time.model_flops += flops;
    }
    // The kernels share the time that the host or a straggler adds.
    if (kernels.count() > 0) {
      const double longer =
          static_cast<double>(time.compute.count()) / static_cast<double>(kernels.count());
      time.filled *= longer;
      if (longer != 1)
        time.recompute =
            Duration{std::llround(static_cast<double>(time.recompute.count()) * longer)};
    }
    each_run_.clear();
    for (const CollectiveRun& run : work.blocking) each_run_.push_back(collective(run));
    const double share = longer_by(work);
    for (std::size_t i = 0; i < work.blocking.size(); ++i) {
      const CollectiveRun& run = work.blocking[i];
      const bool of_tensor = run.group == Group::Tensor || run.group == Group::TensorHeads;
      Duration& whose = of_tensor                    ? time.tensor
                        : is_context(run.group)      ? time.context
                        : run.group == Group::Expert ? time.expert
                                                     : time.data;
      const Duration one = run.beside.count > 0 ? share_of(each_run_[i], share) : each_run_[i];
      whose += one;
      if (shares(run)) time.blocking_shared += one;
    }
    for (const CollectiveRun& run : work.beside) {
      const Duration one = collective(run);
      time.beside += one;
      if (shares(run)) time.beside_shared += one;
    }
    time.lead = sum(work.lead);
    time.gather = sum(work.gather);
    return time;
  }

 private:
  // Returns the factor by which a phase is longer because of the exposed part of collectives beside
  // its kernels; each_run_ has the times of its blocking collectives.
  double longer_by(const PhaseWork& work) {
    Duration exposed{};
    for (std::size_t i = 0; i < work.blocking.size(); ++i)
      if (work.blocking[i].beside.count > 0) exposed += each_run_[i];
    if (exposed == Duration{}) return 1;
    PhaseLoad all = load(work.works, work.kernels);
    all.exposed = to_seconds(exposed);
    return exposed_share(all, cost_);
  }

  CollectiveTime message(const CollectiveRun& run) {
    for (const Message& known : messages_)
      if (known.kind == run.kind && known.group == run.group && known.bytes == run.bytes)
        return known.time;
    const GroupShape& shape = w_.groups[static_cast<std::size_t>(run.group)];
    CollectiveTime time = cost_.collective(run.kind, run.bytes, shape, cluster_);
    if (link_ > 1 && time.level >= slow_level_) time.time = made_longer(time.time, link_);
    messages_.push_back({run.kind, run.group, run.bytes, time});
    return time;
  }

  // Returns whether the run uses the level of links that carries the stages' weights and gradients.
  bool shares(const CollectiveRun& run) {
    if (!looked_) looked_ = true, of_state_ = level_of_state();
    return of_state_ && *of_state_ == message(run).level;
  }

  std::optional<std::size_t> level_of_state() {
    for (const StageWork& kind : w_.kinds)
      for (const std::vector<CollectiveRun>* list :
           {&kind.reduce.last, &kind.phases[static_cast<std::size_t>(Phase::Forward)].lead})
        if (!list->empty()) return message(list->front()).level;
    return {};
  }

  struct Message {
    CollectiveKind kind;
    Group group;
    Bytes bytes;
    CollectiveTime time;
  };
  const Workload& w_;
  const CostModel& cost_;
  const Cluster& cluster_;
  const double link_;
  const std::size_t slow_level_;
  const double most_slower_;       // times as long: what is priced here may at most become
  std::vector<Duration> kernels_;  // by Workload::kernels
  std::vector<Duration> each_;     // for the current phase; a member so that its memory is reused
  std::vector<Duration> each_run_;
  std::vector<Message> messages_;
  std::optional<std::size_t> of_state_;  // level of links that weights and gradients use, once
                                         // computed
  bool looked_ = false;
  std::int64_t stages_ = 1;
  double whole_ = 0;  // nanoseconds of all that was priced so far, times the microbatches

  Duration whole(const std::vector<WorkCount>& works, const std::vector<std::uint32_t>& kernels,
                 bool update) {
    return counted(cost_.phase(works, each_of(works, kernels), update, cluster_), 1);
  }

  const std::vector<Duration>& each_of(const std::vector<WorkCount>& works,
                                       const std::vector<std::uint32_t>& kernels) {
    each_.clear();
    for (const std::uint32_t kernel : kernels) each_.push_back(kernels_[kernel]);
    hide_beside_longest(works, each_);
    return each_;
  }

  // Adds `count` times `one` to the total and refuses the scenario if the total exceeds a Duration,
  // so that no later sum can overflow.
  Duration counted(Duration one, std::int64_t count) {
    whole_ += static_cast<double>(one.count()) * static_cast<double>(count) *
              static_cast<double>(stages_) * microbatches(w_.scenario.plan) * most_slower_;
    constexpr double kMost = 9e18;
    if (whole_ > kMost)
      throw Error(Error::Kind::InvalidInput,
                  "expected at most 285 years of work in one step, found more");
    return one * count;
  }
};

HostTime host_time(const StageWork& stage, const Workload& w, Pricer& pricer) {
  const Cluster& cluster = pricer.cluster();
  const auto copy = [&](Bytes bytes) { return pricer.host(host_copy_time(bytes, cluster)); };
  const auto update = [&](Bytes touched) {
    return pricer.host(host_update_time(touched, cluster));
  };
  HostTime t;
  if (w.layout.host_activations)
    t.activations = copy(stage.bytes.until_input + stage.bytes.until_weight);
  if (!w.layout.host_optimizer) return t;
  const HostWork& host = stage.host;
  t.down_others = copy(host.all.gradients - host.first.gradients);
  t.down_last = copy(host.first.gradients);
  t.update_first = update(host.first.touched);
  t.update_others = update(host.all.touched - host.first.touched);
  t.up_others = copy(host.all.weights - host.last.weights);
  t.up_last = copy(host.last.weights);
  t.overlapped = host.overlapped;
  for (const auto& [layer, count] : host.layers)
    t.nvme.push_back({count, pricer.host(nvme_read_time(layer.nvme, cluster)),
                      update(layer.touched), pricer.host(nvme_write_time(layer.nvme, cluster)),
                      copy(layer.weights)});
  return t;
}

StageTime stage_time(const Workload& w, const StageWork& stage, Pricer& pricer, bool split,
                     bool copied) {
  const auto phase = [&](Phase p) {
    return pricer.phase(stage.phases[static_cast<std::size_t>(p)]);
  };
  StageTime t;
  t.forward = phase(Phase::Forward);
  t.backward = phase(Phase::Backward);
  t.fill = (t.forward.filled + t.backward.filled) /
           std::max(1.0, static_cast<double>((t.forward.compute + t.backward.compute).count()));
  if (split) {
    t.backward_input = phase(Phase::BackwardInput);
    t.backward_weight = phase(Phase::BackwardWeight);
  }
  t.reduce_others = pricer.sum(stage.reduce.others), t.reduce_last = pricer.sum(stage.reduce.last);
  t.gather_others = pricer.sum(stage.gather.others), t.gather_last = pricer.sum(stage.gather.last);
  t.reduce_overlapped = stage.reduce.overlapped, t.gather_overlapped = stage.gather.overlapped;
  if (!w.layout.host_optimizer) t.update = pricer.update(stage.update, stage.update_kernels);
  if (!stage.averaging.empty())
    t.averaging = pricer.update(stage.averaging, stage.averaging_kernels);
  if (w.layout.host_optimizer || w.layout.host_activations) t.host = host_time(stage, w, pricer);
  if (copied)
    t.copies = pricer.collective(
        {CollectiveKind::AllReduce, Group::Copies, stage.state.total.gradients, 1, {}});
  return t;
}

// Devices of a stage compute so many times as long, and what they exchange does not.
void slow_down(PhaseTime& phase, double times) {
  phase.compute = made_longer(phase.compute, times);
  phase.recompute = made_longer(phase.recompute, times);
  phase.filled *= times;
}

void slow_down(StageTime& stage, double times) {
  for (PhaseTime* phase :
       {&stage.forward, &stage.backward, &stage.backward_input, &stage.backward_weight})
    slow_down(*phase, times);
  stage.update = made_longer(stage.update, times);
  stage.averaging = made_longer(stage.averaging, times);
}

// Returns by stage how many times as long its devices compute, the slower ones of its copies; empty
// where all are equal.
std::vector<double> slower_stages(const Workload& w) {
  const std::vector<double> ranks = expected_slowness(w.scenario);
  if (ranks.empty()) return {};
  std::vector<double> stages(w.table.size(), 0);
  for (const StageCopy& place : StageCopies(w))
    stages[place.stage.value] = std::max(stages[place.stage.value], ranks[place.device.value]);
  return stages;
}

double mean_of(const std::vector<double>& factors) {
  if (factors.empty()) return 1;
  return std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
}

// Returns by stage whether a copy of it lies on the pipeline rank of device 0, if it has a slow
// link; empty where it has none.
std::vector<bool> slowly_linked(const Workload& w) {
  if (!(w.scenario.cluster.slowness.slow_link > 1)) return {};
  std::vector<bool> stages(w.table.size(), false);
  for (const StageCopy& place : StageCopies(w))
    if (place.device.value == 0) stages[place.stage.value] = true;
  return stages;
}

// Counts the stages that are alike and lie on one kind of devices.
struct StagesAlike {
  std::uint32_t kind = 0;
  std::int64_t stages = 0;
};

// Returns by kind of devices which kinds of stages lie on it, by rising kind of stage.
std::vector<std::vector<StagesAlike>> stages_by_device_kind(const Workload& w) {
  std::vector<std::vector<StagesAlike>> found(kinds(w.scenario.cluster));
  for (std::uint32_t kind = 0; kind < w.kinds.size(); ++kind)
    for (std::size_t s = 0; s < w.kind_of.size(); ++s) {
      if (w.kind_of[s] != kind) continue;
      std::vector<StagesAlike>& on = found[kind_of_stage(w, s)];
      if (on.empty() || on.back().kind != kind) on.push_back({kind, 0});
      ++on.back().stages;
    }
  return found;
}

}  // namespace

std::size_t kind_of_stage(const Workload& w, std::size_t stage) {
  return kind_of_rank(w.scenario.cluster, w.scenario.plan.mesh, w.table[stage].device);
}

std::vector<StageTime> stage_times(const Workload& w, const CostModel& cost, const Cluster& cluster,
                                   bool slow_link) {
  Pricer pricer(w, cost, cluster, slow_link);
  const bool split = splits_backward(w), copied = copies(w.placement) > 1;
  std::vector<StageTime> kinds;
  for (std::size_t kind = 0; kind < w.kinds.size(); ++kind) {
    pricer.stages(std::count(w.kind_of.begin(), w.kind_of.end(), kind));
    kinds.push_back(stage_time(w, w.kinds[kind], pricer, split, copied));
  }
  std::vector<StageTime> times;
  times.reserve(w.kind_of.size());
  for (const std::uint32_t kind : w.kind_of) times.push_back(kinds[kind]);
  return times;
}

std::vector<StageTime> stage_times(const Workload& w, const CostModel& cost) {
  const KindClusters clusters(w.scenario.cluster);
  std::vector<std::vector<StageTime>> by_kind;
  for (std::size_t kind = 0; kind < clusters.size(); ++kind)
    by_kind.push_back(stage_times(w, cost, clusters[kind]));
  std::vector<StageTime> times;
  if (clusters.size() == 1) times = std::move(by_kind[0]);
  for (std::size_t s = 0; clusters.size() > 1 && s < w.kind_of.size(); ++s)
    times.push_back(by_kind[kind_of_stage(w, s)][s]);
  if (const std::vector<bool> linked = slowly_linked(w); !linked.empty()) {
    const std::vector<StageTime> slow = stage_times(w, cost, clusters[0], true);
    for (std::size_t s = 0; s < times.size(); ++s)
      if (linked[s]) times[s] = slow[s];
  }
  if (const std::vector<double> slower = slower_stages(w); !slower.empty())
    for (std::size_t s = 0; s < times.size(); ++s) slow_down(times[s], slower[s]);
  return times;
}

std::vector<LayerTime> layer_times(Workload& w, const CostModel& cost) {
  w.runs.clear();
  for (int body = 0; body < static_cast<int>(w.bodies.size()); ++body)
    w.runs.push_back({{body, 1, 0}});
  sum_stages(w);
  Pricer pricer(w, cost, w.scenario.cluster);
  std::vector<LayerTime> layers;
  layers.reserve(w.kinds.size());
  for (const StageWork& one : w.kinds) {
    LayerTime& t = layers.emplace_back();
    const auto part = [&](Phase p) { return pricer.part(one.phases[static_cast<std::size_t>(p)]); };
    t.forward = part(Phase::Forward), t.backward = part(Phase::Backward);
    t.backward_input = part(Phase::BackwardInput), t.backward_weight = part(Phase::BackwardWeight);
    t.reduce = pricer.sum(one.reduce.last), t.gather = pricer.sum(one.gather.last);
    t.reduces = !one.reduce.last.empty(), t.gathers = !one.gather.last.empty();
    t.reduce_overlapped = one.reduce.overlapped, t.gather_overlapped = one.gather.overlapped;
    t.update = pricer.load(one.update, one.update_kernels);
  }
  return layers;
}

Duration transfer_time(const Workload& w, const CostModel& cost) {
  const KindClusters clusters(w.scenario.cluster);
  Duration longest{};
  for (std::size_t kind = 0; kind < clusters.size(); ++kind)
    longest = std::max(longest, Pricer(w, cost, clusters[kind]).transfer());
  return longest;
}

PhaseTimes phase_times(const Workload& w, const CostModel& cost) {
  const KindClusters clusters(w.scenario.cluster);
  const std::vector<std::vector<StagesAlike>> stages = stages_by_device_kind(w);
  const double slower = mean_of(slower_stages(w));
  PhaseTimes mean{Duration{0}, Duration{0}, Duration{0}, Duration{0}};
  bool gathers = false;
  for (std::size_t device = 0; device < clusters.size(); ++device) {
    Pricer pricer(w, cost, clusters[device]);
    mean.transfer = std::max(mean.transfer, pricer.transfer());
    for (const auto& [kind, count] : stages[device]) {
      pricer.stages(count);
      const StageWork& work = w.kinds[kind];
      const auto add = [&, times = count](Phase p, Duration& total, Duration& waits) {
        PhaseTime time = pricer.phase(work.phases[static_cast<std::size_t>(p)]);
        if (slower > 1) slow_down(time, slower);
        total += time.total() * times, waits += (time.tensor + time.expert) * times;
        gathers = gathers || time.lead + time.gather + time.data > Duration{};
      };
      add(Phase::Forward, mean.forward, mean.forward_waits);
      add(Phase::BackwardInput, mean.backward_input, mean.backward_waits);
      add(Phase::BackwardWeight, mean.backward_weight, mean.backward_waits);
    }
  }
  if (gathers) mean.forward_waits = mean.backward_waits = {};
  return mean.over(static_cast<std::int64_t>(w.table.size()));
}

}  // namespace trainyard
