#include "core/cluster/mixed.h"

#include <fmt/format.h>

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

// Prices of kernels are looked up by the name of a device, and neither memory nor money is in them.
bool alike_to_prices(Device a, const Device& b) {
  a.memory = b.memory, a.price_low = b.price_low, a.price_high = b.price_high;
  return a == b;
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

Diagnostics check_kinds(const Cluster& cluster) {
  Diagnostics found;
  const auto wrong = [&](std::string message) {
    found.push_back({Diagnostic::Severity::Error, std::move(message), {}, {}});
  };
  const std::int64_t first = count_of_kind(cluster, 0);
  if (first < 1) {
    wrong(
        fmt::format("mixed names {} of the cluster's {} devices, and at least one must be left "
                    "for {}",
                    cluster.count - first, cluster.count, cluster.device.id));
    return found;
  }
  const std::int64_t node = cluster.levels.front().size;
  for (std::size_t kind = 1; kind < kinds(cluster); ++kind) {
    const auto& [own, count] = cluster.mixed[kind - 1];
    if (count < 1) wrong(fmt::format("expected at least 1 device of {}, found {}", own.id, count));
    if (cluster.count > node && count % node != 0)
      wrong(
          fmt::format("{} devices of {} do not fill nodes of {}, and a node has devices of one "
                      "kind",
                      count, own.id, node));
    if (own.scale_up_topology != cluster.device.scale_up_topology)
      wrong(fmt::format("{} are joined as a {} and {} as a {}, and a cluster wires its nodes alike",
                        own.id, to_string(own.scale_up_topology), cluster.device.id,
                        to_string(cluster.device.scale_up_topology)));
    for (std::size_t before = 0; before < kind; ++before)
      if (const Device& other = device_of_kind(cluster, before);
          other.id == own.id && !alike_to_prices(other, own))
        wrong(fmt::format("two kinds are called {} and differ; give one of them an id of its own",
                          own.id));
  }
  return found;
}

}  // namespace trainyard
