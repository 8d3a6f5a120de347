// Prices: what a cost model says of every task of a program, once.
#include <algorithm>

#include "backends/simulator/simulator.h"
#include "core/base/saturating.h"
#include "core/plan/mesh.h"

namespace trainyard {
namespace {

void price_compute(const Program& program, const Task& task, const Cluster& cluster,
                   const CostModel& cost, TaskPrices& prices) {
  Duration kernels{}, again{};
  double fill = 0;
  Flops flops{}, model{};
  for (std::uint32_t i = task.first_work; i < task.first_work + task.works; ++i) {
    const WorkCount& w = program.works[i];
    const Duration time = saturating_product(cost.compute(w.work, cluster.device), w.count);
    kernels = saturating_sum(kernels, time);
    if (w.recomputed) again = saturating_sum(again, time);
    fill += static_cast<double>(time.count()) * w.work.fill;
    const Flops f = w.work.flops * static_cast<double>(w.count);
    flops += f;
    if (!w.recomputed) model += f;
  }
  const std::span<const WorkCount> works(program.works.data() + task.first_work, task.works);
  const bool update = task.phase == Phase::Update;
  prices.time.push_back(cost.phase(works, update, cluster));
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

}  // namespace

TaskPrices price(const Program& program, const Mesh& mesh, const Cluster& cluster,
                 const CostModel& cost) {
  TaskPrices prices;
  const std::size_t pipeline = program.devices > 1 ? pipeline_level(mesh, cluster) : 0;
  for (const Task& task : program.tasks) {
    if (task.kind == TaskKind::Compute) {
      price_compute(program, task, cluster, cost, prices);
      continue;
    }
    Duration time{};
    std::size_t level = pipeline;
    if (task.kind == TaskKind::Collective) {
      const CollectiveTime one =
          cost.collective(task.collective, task.bytes,
                          group_shape(mesh, task.group, cluster, program.shard), cluster);
      time = saturating_product(one.time, task.repeats);
      level = one.level;
    } else {
      time = cost.transfer(task.bytes, cluster, pipeline);
    }
    prices.time.push_back(time);
    prices.fill.push_back(1.0);
    prices.resource.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(level, 254) + 1));
    prices.recompute_share.push_back(0);
    prices.flops.push_back({});
    prices.model_flops.push_back({});
  }
  return prices;
}

}  // namespace trainyard
