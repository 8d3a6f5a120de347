#include "backends/cpu/time/slow_links.h"

#include <algorithm>

#include "core/cost/collectives/alpha_beta.h"

namespace trainyard {
namespace {

double sent_bytes(const Task& task, std::int64_t ranks) {
  const double n = static_cast<double>(task.bytes.value) * std::max(1, task.repeats);
  if (task.kind != TaskKind::Collective) return n;
  constexpr LinkCost kOneByteASecond{0, 1, 0};
  switch (task.collective) {
    case CollectiveKind::AllReduce:
      return ring_all_reduce(n, ranks, kOneByteASecond);
    case CollectiveKind::ReduceScatter:
      return ring_reduce_scatter(n, ranks, kOneByteASecond);
    case CollectiveKind::AllGather:
      return ring_all_gather(n, ranks, kOneByteASecond);
    case CollectiveKind::AllToAll:
      return pairwise_all_to_all(n, ranks, kOneByteASecond);
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
      return pipelined_tree_broadcast(n, ranks, kOneByteASecond);
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:
      return tree_gather(n, ranks, kOneByteASecond);
    case CollectiveKind::HaloExchange:
      return halo_exchange(n, kOneByteASecond);
  }
  return n;
}

}  // namespace

void SlowLinks::reset(std::size_t devices) {
  if (free_.size() != devices) free_ = std::vector<std::atomic<std::int64_t>>(devices);
  for (auto& link : free_) link = 0;
}

Instant SlowLinks::reserve(std::size_t device, const Task& task, std::int64_t ranks, Instant from) {
  const Duration time = seconds(sent_bytes(task, ranks) / rate_);
  std::int64_t free = free_[device].load(), end = 0;
  do end = std::max(free, from.count()) + time.count();
  while (!free_[device].compare_exchange_weak(free, end));
  return Instant{end};
}

}  // namespace trainyard
