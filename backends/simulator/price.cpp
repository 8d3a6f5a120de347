// Prices: what a cost model says of every task of a program, once.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "backends/simulator/simulator.h"
#include "core/base/saturating.h"
#include "core/cluster/host.h"
#include "core/cluster/mixed.h"
#include "core/cluster/nvme.h"
#include "core/cost/kernels/concurrent_kernels.h"
#include "core/cost/overlap.h"
#include "core/plan/mesh.h"
#include "core/plan/stage_kinds.h"

namespace trainyard {
namespace {

std::vector<Duration> kernels_of(std::span<const WorkCount> works, const Cluster& cluster,
                                 const CostModel& cost) {
  std::vector<Duration> each;
  for (const WorkCount& w : works) each.push_back(cost.compute(w.work, cluster.device));
  hide_beside_longest(works, each);
  return each;
}

void price_compute(const Program& program, const Task& task, const Cluster& cluster,
                   const CostModel& cost, TaskPrices& prices) {
  Duration kernels{}, again{};
  double fill = 0;
  Flops flops{}, model{};  // what an update computes is none of the model's
  const bool update = task.phase == Phase::Update;
  const std::span<const WorkCount> works(program.works.data() + task.first_work, task.works);
  const std::vector<Duration> each = kernels_of(works, cluster, cost);
  for (std::size_t i = 0; i < works.size(); ++i) {
    const WorkCount& w = works[i];
    const Duration time = saturating_product(each[i], w.count);
    kernels = saturating_sum(kernels, time);
    if (w.recomputed) again = saturating_sum(again, time);
    fill += static_cast<double>(time.count()) * w.work.fill;
    const Flops f = w.work.flops * static_cast<double>(w.count);
    flops += f;
    if (!w.recomputed && !update) model += f;
  }
  prices.time.push_back(cost.phase(works, each, update, cluster));
  prices.fill.push_back(kernels.count() > 0
                            ? std::clamp(fill / static_cast<double>(kernels.count()), 1e-6, 1.0)
                            : 1.0);
  prices.resource.push_back(0);
  prices.recompute_share.push_back(kernels.count() > 0 ? static_cast<double>(again.count()) /
                                                             static_cast<double>(kernels.count())
                                                       : 0);
  prices.flops.push_back(flops);
  prices.model_flops.push_back(model);
}

// The kinds of devices on which tasks run, by task; messages have two ends. Empty where all devices
// are equal.
class TaskKinds {
 public:
  TaskKinds(const Program& program, const Mesh& mesh, const Cluster& cluster) {
    if (!is_mixed(cluster)) return;
    std::vector<std::size_t> of_instruction(program.instructions.size());
    for (const Stream& stream : program.streams)
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
        of_instruction[i] = kind_of_rank(cluster, mesh, stream.device);
    own_.resize(program.tasks.size()), other_.resize(program.tasks.size());
    for (std::size_t i = 0; i < of_instruction.size(); ++i) {
      const Instruction& one = program.instructions[i];
      own_[one.task.value] = of_instruction[i];
      other_[one.task.value] = of_instruction[one.peer.valid() ? one.peer.value : i];
    }
  }
  std::size_t own(std::size_t task) const { return own_.empty() ? 0 : own_[task]; }
  std::size_t other(std::size_t task) const { return other_.empty() ? 0 : other_[task]; }

 private:
  std::vector<std::size_t> own_, other_;
};

// SlowTasks knows how slow the ranks are that run a task, and whether device 0 sends in it over its
// slow link. It holds nothing where all devices and links are equal.
class SlowTasks {
 public:
  SlowTasks(const Program& program, const Cluster& cluster, const std::vector<double>& slower)
      : link_(cluster.slowness.slow_link), level_(level_of(cluster, cluster.count)) {
    if (slower.empty() && !(link_ > 1)) return;
    compute_.resize(program.tasks.size(), 0), linked_.resize(program.tasks.size(), false);
    for (const Stream& stream : program.streams)
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
        see(program, i, stream.device.value, slower);
  }
  Duration computing(std::size_t task, Duration time) const {
    return compute_.empty() || !(compute_[task] > 0) ? time : times(time, compute_[task]);
  }
  Duration sending(std::size_t task, std::size_t level, Duration time) const {
    return linked_.empty() || !linked_[task] || level < level_ ? time : times(time, link_);
  }

 private:
  void see(const Program& program, std::uint32_t instruction, std::uint32_t rank,
           const std::vector<double>& slower) {
    const Instruction& one = program.instructions[instruction];
    const std::size_t task = one.task.value;
    if (!slower.empty()) compute_[task] = std::max(compute_[task], slower[rank]);
    if (!(link_ > 1) || rank != 0) return;
    linked_[task] = true;
    if (one.peer.valid()) linked_[program.instructions[one.peer.value].task.value] = true;
  }
  static Duration times(Duration time, double factor) {
    constexpr double kMost = 9e18;
    const double longer = static_cast<double>(time.count()) * factor;
    return longer < kMost ? Duration{std::llround(longer)} : Duration::max();
  }

  const double link_;
  const std::size_t level_;
  std::vector<double> compute_;
  std::vector<bool> linked_;
};

// Collectives that run beside kernels of one phase of a stage, and what is exposed of them.
struct BesidePhase {
  PhaseLoad load;
  std::vector<std::size_t> tasks;
};

PhaseLoad load_of(const Program& program, const Task& task, const Cluster& cluster,
                  const CostModel& cost) {
  std::vector<WorkCount> works(program.works.begin() + task.first_work,
                               program.works.begin() + task.first_work + task.works);
  if (task.kind == TaskKind::Collective) works.front().count = 1;  // its pieces are one kernel
  return cost.load(works, kernels_of(works, cluster, cost), cluster);
}

// The host goes on issuing a phase's kernels while the device waits for what is exposed, so that
// the phase is longer by a share of it. At order grain the computation of a phase is the task of
// its stage that stands before them, at op grain the kernel beside which each runs.
void shorten_exposed(const Program& program, const TaskKinds& kinds, const KindClusters& clusters,
                     const CostModel& cost, TaskPrices& prices) {
  std::map<std::pair<std::uint32_t, Phase>, std::size_t> computes;  // newest by stage and phase
  std::map<std::size_t, BesidePhase> phases;                        // by task of the computation
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    const Task& task = program.tasks[t];
    const std::pair key{task.stage.value, task.phase};
    if (task.kind == TaskKind::Compute && task.list == BodyList::None) computes[key] = t;
    if (task.kind != TaskKind::Collective || task.works == 0) continue;
    const auto before = computes.find(key);
    const std::size_t of =
        task.list == BodyList::None && before != computes.end() ? before->second : t;
    BesidePhase& phase = phases[of];
    if (phase.tasks.empty())
      phase.load = load_of(program, program.tasks[of], clusters[kinds.own(of)], cost);
    phase.load.exposed += to_seconds(prices.time[t]);
    phase.tasks.push_back(t);
  }
  for (const auto& [of, phase] : phases) {
    const double share = exposed_share(phase.load, cost);
    for (const std::size_t t : phase.tasks) prices.time[t] = share_of(prices.time[t], share);
  }
}

// The pipeline's stages do much the same: a task whose works an earlier one has takes its prices.
bool same_works(const Program& program, const Task& a, const Task& b) {
  const auto of = [&](const Task& t) { return program.works.begin() + t.first_work; };
  const auto same = [](const WorkCount& x, const WorkCount& y) {
    return x.work == y.work && x.count == y.count && x.recomputed == y.recomputed &&
           x.place == y.place;
  };
  return (a.phase == Phase::Update) == (b.phase == Phase::Update) &&
         std::equal(of(a), of(a) + a.works, of(b), of(b) + b.works, same);
}

template <class T>
void repeat(std::vector<T>& list, std::size_t at) {
  list.push_back(T(list[at]));
}

Duration host_task_time(const Task& task, const Cluster& cluster) {
  switch (task.kind) {
    case TaskKind::HostCopy:
      return host_copy_time(task.bytes, cluster);
    case TaskKind::NvmeRead:
      return nvme_read_time(task.bytes, cluster);
    case TaskKind::NvmeWrite:
      return nvme_write_time(task.bytes, cluster);
    default:
      return host_update_time(task.bytes, cluster);
  }
}

}  // namespace

TaskPrices price(const Program& program, const Mesh& mesh, const Cluster& whole,
                 const CostModel& cost, const std::vector<double>& slower) {
  TaskPrices prices;
  prices.slower = slower;
  const SlowTasks slow(program, whole, slower);
  const KindClusters clusters(whole);
  const TaskKinds kinds(program, mesh, whole);
  for (std::size_t kind = 0; kind < clusters.size(); ++kind)
    prices.contention = std::max(prices.contention, cost.contention(clusters[kind].device));
  const std::size_t pipeline = program.devices > 1 ? pipeline_level(mesh, whole) : 0;
  std::vector<std::size_t> distinct;  // compute tasks, each priced for all that are like it
  std::array<std::optional<GroupShape>, kGroups> groups;
  for (std::size_t at = 0; at < program.tasks.size(); ++at) {
    const Task& task = program.tasks[at];
    const Cluster& cluster = clusters[kinds.own(at)];
    if (task.kind == TaskKind::Compute) {
      const auto like = std::find_if(distinct.begin(), distinct.end(), [&](std::size_t t) {
        return kinds.own(t) == kinds.own(at) && same_works(program, program.tasks[t], task);
      });
      if (like != distinct.end()) {
        repeat(prices.time, *like), repeat(prices.fill, *like), repeat(prices.resource, *like);
        repeat(prices.recompute_share, *like);
        repeat(prices.flops, *like), repeat(prices.model_flops, *like);
      } else {
        distinct.push_back(prices.time.size());
        price_compute(program, task, cluster, cost, prices);
      }
      continue;
    }
    Duration time{};
    std::size_t level = pipeline;
    if (is_host(task.kind)) {
      time = host_task_time(task, cluster);
      level = cluster.levels.size();  // beyond all that join devices
    } else if (task.kind == TaskKind::Collective) {
      std::optional<GroupShape>& group = groups[static_cast<std::size_t>(task.group)];
      if (!group) group = group_shape(mesh, task.group, whole, program.shard);
      CollectiveTime one = cost.collective(task.collective, task.bytes, *group, cluster);
      one.time = slow.sending(at, one.level, one.time);
      Duration waited = one.time;
      if (task.works > 0) {
        const WorkCount& w = program.works[task.first_work];
        waited =
            exposed(one.time, cost.compute(w.work, cluster.device), w.count, prices.contention);
      }
      time = saturating_product(waited / task.every, task.repeats);
      level = one.level;
    } else {
      // A message is as fast as the slower of its two ends.
      time = cost.transfer(task.bytes, cluster, pipeline);
      if (kinds.other(at) != kinds.own(at))
        time = std::max(time, cost.transfer(task.bytes, clusters[kinds.other(at)], pipeline));
      time = slow.sending(at, pipeline, time);
    }
    prices.time.push_back(time);
    // Down, up, update, reads and writes take nothing from each other.
    prices.fill.push_back(is_nvme(task.kind) ? 0.125 : is_host(task.kind) ? 0.25 : 1.0);
    prices.resource.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(level, 254) + 1));
    prices.recompute_share.push_back(0);
    prices.flops.push_back({});
    prices.model_flops.push_back({});
  }
  shorten_exposed(program, kinds, clusters, cost, prices);
  for (std::size_t at = 0; at < program.tasks.size(); ++at)
    if (program.tasks[at].kind == TaskKind::Compute)
      prices.time[at] = slow.computing(at, prices.time[at]);
  return prices;
}

}  // namespace trainyard
