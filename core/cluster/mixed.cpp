#include "core/cluster/mixed.h"

#include <algorithm>

namespace trainyard {
namespace {

// A node's links are level 0, its ports level 1; further levels belong to no device.
void take_links(Cluster& cluster, const Device& first, const Device& own) {
  const auto take = [](auto& now, const auto& firsts, const auto& owns) {
    if (now.value == firsts.value) now = owns;
  };
  Level& node = cluster.levels[0];
  take(node.bandwidth, first.scale_up, own.scale_up);
  take(node.latency, first.scale_up_latency, own.scale_up_latency);
  if (node.topology == Topology::Switch && node.reduces == switches_reduce(first))
    node.reduces = switches_reduce(own);
  if (cluster.levels.size() < 2) return;
  take(cluster.levels[1].bandwidth, first.network, own.network);
  take(cluster.levels[1].latency, first.network_latency, own.network_latency);
}

}  // namespace

const Device& device_of_kind(const Cluster& cluster, std::size_t kind) {
  return kind == 0 ? cluster.device : cluster.mixed[kind - 1].device;
}

std::int64_t count_of_kind(const Cluster& cluster, std::size_t kind) {
  if (kind > 0) return cluster.mixed[kind - 1].count;
  std::int64_t first = cluster.count;
  for (const DeviceKind& one : cluster.mixed) first -= one.count;
  return first;
}

std::size_t kind_of_device(const Cluster& cluster, std::int64_t device) {
  std::size_t kind = cluster.mixed.size();
  for (std::int64_t begin = cluster.count; kind > 0; --kind) {
    begin -= cluster.mixed[kind - 1].count;
    if (device >= begin) break;
  }
  return kind;
}

Cluster kind_cluster(const Cluster& cluster, std::size_t kind) {
  Cluster own = cluster;
  own.mixed.clear();
  own.device = device_of_kind(cluster, kind);
  if (kind > 0) take_links(own, cluster.device, own.device);
  return own;
}

std::optional<double> mean_price(const Cluster& cluster,
                                 std::optional<Sourced<double>> Device::* price) {
  double sum = 0;
  for (std::size_t kind = 0; kind < kinds(cluster); ++kind) {
    const std::optional<Sourced<double>>& one = device_of_kind(cluster, kind).*price;
    if (!one) return std::nullopt;
    if (!is_mixed(cluster)) return one->value;
    sum += one->value * static_cast<double>(count_of_kind(cluster, kind));
  }
  return sum / static_cast<double>(cluster.count);
}

KindClusters::KindClusters(const Cluster& cluster) : whole_(&cluster) {
  if (!is_mixed(cluster)) return;
  for (std::size_t kind = 0; kind < kinds(cluster); ++kind)
    own_.push_back(kind_cluster(cluster, kind));
}

void keep_first(Cluster& cluster, std::int64_t devices) {
  for (std::int64_t over = cluster.count - devices; over > 0 && is_mixed(cluster);) {
    DeviceKind& last = cluster.mixed.back();
    const std::int64_t taken = std::min(over, last.count);
    over -= taken, last.count -= taken;
    if (last.count == 0) cluster.mixed.pop_back();
  }
  cluster.count = devices;
}

}  // namespace trainyard
